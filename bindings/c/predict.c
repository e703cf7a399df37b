/* predict.c - Fashion-MNIST's test images classified by a saved program, in plain C11.
 *
 *   cc -std=c11 predict.c $(pkg-config --cflags --libs oarlock) -lz -o predict && ./predict network.oarp [device] [images]
 *
 * network.oarp takes f32[N, 1, 28, 28] and gives ten scores an image; examples/02_train_cnn saves one. device: a name, or
 * all.
 */
#include <oarlock/app.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define PIXELS 784
#define CLASSES 10
#define BATCH 100
#define FOLDER "/usr/share/datasets/fashion-mnist/"

static void check(oar_status_t status) {
  if (status == OAR_OK) return;
  fprintf(stderr, "predict: %s\n", oar_error_text());
  exit(1);
}
static void read_idx(const char* path, unsigned head_bytes, unsigned char* data, unsigned n) {
  unsigned char head[16];
  gzFile file = gzopen(path, "rb");
  if (!file || gzread(file, head, head_bytes) != (int)head_bytes || gzread(file, data, n) != (int)n) {
    fprintf(stderr, "predict: %s can't be read. Install Debian's package dataset-fashion-mnist.\n", path);
    exit(1);
  }
  gzclose(file);
}

/* How many of n images, at most BATCH, the program gets right. */
static int classify(oar_predictor_t* predictor, const unsigned char* images, const unsigned char* labels, int n) {
  static float pixels[BATCH * PIXELS];
  float scores[BATCH * CLASSES];
  const int64_t shape[] = {n, 1, 28, 28};
  oar_tensor_t *image, *out;
  int right = 0;
  for (int i = 0; i < n * PIXELS; ++i) pixels[i] = ((float)images[i] / 255 - 0.2860f) / 0.3530f;
  check(oar_tensor_borrow(pixels, OAR_DTYPE_F32, 4, shape, NULL, NULL, NULL, &image));
  check(oar_predictor_run(predictor, &image, 1, &out, 1));
  check(oar_tensor_read(out, scores, (size_t)n * CLASSES * sizeof(float)));
  check(oar_tensor_release(image));
  check(oar_tensor_release(out));
  for (int i = 0; i < n; ++i) {
    int best = 0;
    for (int c = 1; c < CLASSES; ++c)
      if (scores[i * CLASSES + c] > scores[i * CLASSES + best]) best = c;
    right += best == labels[i];
  }
  return right;
}

int main(int argc, char** argv) {
  static unsigned char images[10000 * PIXELS], labels[10000];
  if (argc < 2) {
    fprintf(stderr, "predict: give the path of a saved program\n");
    return 1;
  }
  const char* device = argc > 2 ? argv[2] : "cpu";
  int n = argc > 3 ? atoi(argv[3]) : 10000;
  if (n < 1 || n > 10000) n = 10000;
  read_idx(FOLDER "t10k-images-idx3-ubyte.gz", 16, images, sizeof images);
  read_idx(FOLDER "t10k-labels-idx1-ubyte.gz", 8, labels, sizeof labels);

  int32_t first = 0, last;
  check(oar_device_count(&last));
  if (strcmp(device, "all") != 0) {
    check(oar_device_find(oar_text(device), &first));
    last = first + 1;
  }
  for (int32_t d = first; d < last; ++d) {
    oar_predictor_config_t config = OAR_PREDICTOR_CONFIG_INIT;
    oar_predictor_t* predictor;
    char name[64];
    int right = 0;
    config.device = d;
    check(oar_predictor_create(oar_text(argv[1]), &config, &predictor));
    for (int at = 0; at < n; at += BATCH)
      right += classify(predictor, images + at * PIXELS, labels + at, n - at < BATCH ? n - at : BATCH);
    check(oar_device_name(d, name, sizeof name, NULL));
    printf("%-12s accuracy %.4f over %d images\n", name, (double)right / n, n);
    check(oar_predictor_release(predictor));
  }
  return 0;
}
