/* train.c - a small residual network trained on Fashion-MNIST in plain C11; the network of examples/02_train_cnn.cc.
 *
 *   cc -std=c11 train.c $(pkg-config --cflags --libs oarlock) -lz -o train && ./train [device] [epochs] [steps]
 *
 * steps: train only so many batches of the first epoch, and test on 100 images. Ends with 1 if an epoch in full brings
 * less than 0.80.
 */
#include <oarlock/app.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define BATCH 64
#define PIECE 100 /* of a test, at least BATCH */
#define PIXELS 784
#define FOLDER "/usr/share/datasets/fashion-mnist/"

static void stop(const char* text, ...) {
  va_list list;
  va_start(list, text);
  fputs("train: ", stderr);
  vfprintf(stderr, text, list);
  fputc('\n', stderr);
  va_end(list);
  exit(1);
}
static void check(oar_status_t status) {
  if (status != OAR_OK) stop("%s", oar_error_text());
}

/* ---------------------------------------------------------------- What a step makes, released at its end */
static oar_tensor_t* made[256];
static int n_made;
static oar_tensor_t* keep(oar_tensor_t* t) {
  if (n_made == 256) stop("more than 256 tensors in one step");
  return made[n_made++] = t;
}
static void release_made(void) {
  while (n_made) check(oar_tensor_release(made[--n_made]));
}

/* ---------------------------------------------------------------- Data */
/* The n bytes behind the head of an IDX file. */
static unsigned char* read_idx(const char* path, int rank, size_t n) {
  gzFile file = gzopen(path, "rb");
  if (!file) stop("%s can't be read. Install Debian's package dataset-fashion-mnist.", path);
  unsigned char head[16];
  unsigned head_bytes = 4 + 4 * (unsigned)rank;
  unsigned char* data = malloc(n);
  if (!data) stop("no memory for %s", path);
  if (gzread(file, head, head_bytes) != (int)head_bytes || head[2] != 8 || head[3] != rank ||
      gzread(file, data, (unsigned)n) != (int)n)
    stop("%s is not an IDX file of %zu bytes in %d dimensions", path, n, rank);
  gzclose(file);
  return data;
}
typedef struct data {
  int n;
  unsigned char *images, *labels;
} data_t;
static data_t read_data(const char* images, const char* labels, int n) {
  data_t d = {n, read_idx(images, 3, (size_t)n * PIXELS), read_idx(labels, 1, (size_t)n)};
  return d;
}
/* The samples order[0..n) as f32[n, 1, 28, 28], normalised, and i64[n]. */
static void batch_of(const data_t* d, const int* order, int n, int32_t device, oar_tensor_t** out_x,
                     oar_tensor_t** out_y) {
  static float pixels[PIECE * PIXELS];
  static int64_t classes[PIECE];
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < PIXELS; ++k)
      pixels[i * PIXELS + k] = ((float)d->images[order[i] * PIXELS + k] / 255.0f - 0.2860f) / 0.3530f;
    classes[i] = d->labels[order[i]];
  }
  const int64_t x_shape[] = {n, 1, 28, 28}, y_shape[] = {n};
  check(oar_tensor_create(OAR_DTYPE_F32, 4, x_shape, pixels, device, out_x));
  check(oar_tensor_create(OAR_DTYPE_I64, 1, y_shape, classes, device, out_y));
  keep(*out_x);
  keep(*out_y);
}

/* ---------------------------------------------------------------- The network */
enum { MOST = 64 };
static oar_tensor_t *parameter[MOST], *momentum[MOST];
static int n_parameters;
static int32_t device;

static oar_tensor_t* filled(int rank, const int64_t* shape, double value) {
  oar_tensor_t* t;
  check(oar_device_use(device));
  check(oar_full(shape, (size_t)rank, value, NULL, &t));
  return t;
}
static oar_tensor_t* scalar(double value) { return keep(filled(0, NULL, value)); }
static int add_parameter(oar_tensor_t* t, int rank, const int64_t* shape) {
  check(oar_tensor_set_requires_grad(t, 1));
  parameter[n_parameters] = t;
  momentum[n_parameters] = filled(rank, shape, 0);
  return n_parameters++;
}
/* Uniform within 1 / sqrt(fan in). */
static int add_weight(int rank, const int64_t* shape) {
  int64_t fan = 1, seed_values[] = {1, n_parameters}, two = 2;
  for (int i = 1; i < rank; ++i) fan *= shape[i];
  double bound = 1;
  while (bound * bound * (double)fan > 1) bound *= 0.999; /* 1 / sqrt(fan) without libm */
  oar_tensor_t *seed, *u, *scaled, *shifted, *t;
  check(oar_tensor_create(OAR_DTYPE_I64, 1, &two, seed_values, 0, &seed));
  check(oar_device_use(device));
  check(oar_random_uniform(seed, shape, (size_t)rank, NULL, &u));
  check(oar_multiply(u, scalar(2 * bound), &scaled));
  check(oar_subtract(scaled, scalar(bound), &shifted));
  check(oar_tensor_detach(shifted, &t));
  keep(seed), keep(u), keep(scaled), keep(shifted);
  return add_parameter(t, rank, shape);
}

static oar_tensor_t** statistics[MOST]; /* where the running means and variances stand */
static int n_statistics;

typedef struct conv_bn {
  int weight, scale, bias;
  int64_t stride, padding;
  oar_tensor_t *mean, *var;
} conv_bn_t;
static void make_conv_bn(conv_bn_t* c, int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  const int64_t shape[] = {out, in, kernel, kernel};
  c->stride = stride;
  c->padding = kernel / 2;
  c->weight = add_weight(4, shape);
  c->scale = add_parameter(filled(1, &out, 1), 1, &out);
  c->bias = add_parameter(filled(1, &out, 0), 1, &out);
  c->mean = filled(1, &out, 0);
  c->var = filled(1, &out, 1);
  statistics[n_statistics++] = &c->mean;
  statistics[n_statistics++] = &c->var;
}
static oar_tensor_t* run_conv_bn(conv_bn_t* c, oar_tensor_t* x, int training) {
  oar_conv_options_t conv = OAR_CONV_OPTIONS_INIT;
  conv.stride = &c->stride;
  conv.padding = &c->padding;
  conv.n_stride = conv.n_padding = 1;
  oar_batch_norm_options_t norm = OAR_BATCH_NORM_OPTIONS_INIT;
  norm.training = training;
  oar_tensor_t *y, *z, *mean, *var;
  check(oar_conv(x, parameter[c->weight], NULL, &conv, &y));
  check(oar_batch_norm(keep(y), c->mean, c->var, parameter[c->scale], parameter[c->bias], &norm, &z, &mean, &var));
  if (training) { /* an op is pure: it returns the new statistics, and we keep them */
    keep(c->mean), keep(c->var);
    check(oar_tensor_detach(keep(mean), &c->mean));
    check(oar_tensor_detach(keep(var), &c->var));
  } else {
    keep(mean), keep(var);
  }
  return keep(z);
}
static oar_tensor_t* relu(oar_tensor_t* x) {
  oar_tensor_t* y;
  check(oar_relu(x, &y));
  return keep(y);
}
typedef struct block {
  conv_bn_t first, second, past;
} block_t;
static void make_block(block_t* b, int64_t in, int64_t out) {
  make_conv_bn(&b->first, in, out, 3, 2);
  make_conv_bn(&b->second, out, out, 3, 1);
  make_conv_bn(&b->past, in, out, 1, 2);
}
static oar_tensor_t* run_block(block_t* b, oar_tensor_t* x, int training) {
  oar_tensor_t* y = run_conv_bn(&b->second, relu(run_conv_bn(&b->first, x, training)), training);
  oar_tensor_t* sum;
  check(oar_add(y, run_conv_bn(&b->past, x, training), &sum));
  return relu(keep(sum));
}
typedef struct net {
  conv_bn_t stem;
  block_t one, two;
  int weight, bias; /* f32[10, 64], f32[10] */
} net_t;
static oar_tensor_t* run_net(net_t* net, oar_tensor_t* x, int training) {
  x = relu(run_conv_bn(&net->stem, x, training));
  x = run_block(&net->two, run_block(&net->one, x, training), training);
  oar_mean_options_t over = OAR_MEAN_OPTIONS_INIT;
  const int64_t axes[] = {2, 3};
  over.axes = axes;
  over.n_axes = 2;
  oar_tensor_t *pooled, *turned, *product, *logits;
  check(oar_mean(x, &over, &pooled));
  check(oar_matrix_transpose(parameter[net->weight], &turned));
  check(oar_matmul(keep(pooled), keep(turned), &product));
  check(oar_add(keep(product), parameter[net->bias], &logits));
  return keep(logits);
}

/* ---------------------------------------------------------------- Training */
static double train_step(net_t* net, oar_tensor_t* x, oar_tensor_t* y, double rate) {
  oar_tensor_t *each, *loss;
  check(oar_cross_entropy(run_net(net, x, 1), y, &each));
  check(oar_mean(keep(each), NULL, &loss));
  keep(loss);
  check(oar_backward(&loss, NULL, 1, 0));
  int before;
  check(oar_grad_enable(0, &before));
  oar_tensor_t* rate_tensor;
  check(oar_tensor_create(OAR_DTYPE_F64, 0, NULL, &rate, 0, &rate_tensor));
  keep(rate_tensor);
  oar_sgd_update_options_t sgd = OAR_SGD_UPDATE_OPTIONS_INIT;
  sgd.weight_decay = 5e-4;
  sgd.nesterov = 1;
  for (int i = 0; i < n_parameters; ++i) {
    oar_tensor_t* gradient;
    check(oar_tensor_grad(parameter[i], &gradient));
    check(oar_sgd_update(parameter[i], keep(gradient), rate_tensor, momentum[i], &sgd));
    check(oar_tensor_set_grad(parameter[i], NULL));
  }
  check(oar_grad_enable(before, NULL));
  double value;
  check(oar_tensor_item(loss, &value));
  return value;
}
static double test(net_t* net, const data_t* d, int images) {
  int right = 0, order[PIECE], before;
  check(oar_grad_enable(0, &before));
  for (int at = 0; at < images; at += PIECE) {
    for (int i = 0; i < PIECE; ++i) order[i] = at + i;
    oar_tensor_t *x, *y, *best;
    int64_t classes[PIECE];
    batch_of(d, order, PIECE, device, &x, &y);
    oar_argmax_options_t last = OAR_ARGMAX_OPTIONS_INIT;
    last.axis = 1;
    last.has_axis = 1;
    check(oar_argmax(run_net(net, x, 0), &last, &best));
    check(oar_tensor_read(keep(best), classes, sizeof classes));
    for (int i = 0; i < PIECE; ++i) right += classes[i] == d->labels[at + i];
    release_made();
  }
  check(oar_grad_enable(before, NULL));
  return (double)right / images;
}

int main(int argc, char** argv) {
  int epochs = argc > 2 ? atoi(argv[2]) : 1, most = argc > 3 ? atoi(argv[3]) : 0;
  check(oar_device_find(oar_text(argc > 1 ? argv[1] : "cpu"), &device));
  data_t training = read_data(FOLDER "train-images-idx3-ubyte.gz", FOLDER "train-labels-idx1-ubyte.gz", 60000);
  data_t tests = read_data(FOLDER "t10k-images-idx3-ubyte.gz", FOLDER "t10k-labels-idx1-ubyte.gz", 10000);
  net_t net;
  make_conv_bn(&net.stem, 1, 16, 3, 1);
  make_block(&net.one, 16, 32);
  make_block(&net.two, 32, 64);
  const int64_t out[] = {10, 64};
  net.weight = add_weight(2, out);
  net.bias = add_parameter(filled(1, out, 0), 1, out);
  release_made();

  static int order[60000];
  for (int i = 0; i < 60000; ++i) order[i] = i;
  srand(7);
  int per_epoch = 60000 / BATCH, total = most ? most : epochs * per_epoch;
  double smooth = 0;
  for (int step = 0; step < total; ++step) {
    if (step % per_epoch == 0)
      for (int i = 59999; i > 0; --i) {
        int k = rand() % (i + 1), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
      }
    oar_tensor_t *x, *y;
    batch_of(&training, order + step % per_epoch * BATCH, BATCH, device, &x, &y);
    double loss = train_step(&net, x, y, 0.05 * (1 - (double)step / total)); /* falling to 0 in a line */
    release_made();
    smooth = step ? 0.95 * smooth + 0.05 * loss : loss;
    if (step % 100 == 99 || step + 1 == total)
      printf("step %d of %d  loss %.4f\n", step + 1, total, smooth), fflush(stdout);
  }
  int images = most ? 100 : 10000;
  double accuracy = test(&net, &tests, images);
  printf("accuracy %.4f over %d test images\n", accuracy, images);

  for (int i = 0; i < n_parameters; ++i) keep(parameter[i]), keep(momentum[i]);
  for (int i = 0; i < n_statistics; ++i) keep(*statistics[i]);
  release_made();
  for (int i = 0; i < 4; ++i) free((unsigned char*[]){training.images, training.labels, tests.images, tests.labels}[i]);
  return most || accuracy >= 0.80 ? 0 : 1;
}
