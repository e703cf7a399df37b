/* planted.c - a program for advise and bisect: what a plugin of tanh and matrix products takes, and what it lacks. Prints
 * nothing; its one argument is a device. */
#include <oarlock/app.h>
#include <stdio.h>
#include <stdlib.h>

static void need(oar_status_t status, const char* what) {
  if (status == OAR_OK) return;
  fprintf(stderr, "planted: %s: %s\n", what, oar_error_text());
  exit(1);
}

static oar_tensor_t* matrix(uint32_t dtype, int64_t rows, int64_t columns, int32_t device) {
  oar_tensor_t *flat, *wide, *out;
  float* values = malloc((size_t)(rows * columns) * sizeof(float));
  for (int64_t i = 0; i < rows * columns; ++i) values[i] = (float)(i * 7 % 13 - 6) / 4;
  need(oar_tensor_create(OAR_DTYPE_F32, 2, (int64_t[]){rows, columns}, values, 0, &flat), "create");
  free(values);
  need(oar_cast(flat, dtype, &wide), "cast");
  need(oar_tensor_to(wide, device, &out), "to");
  oar_tensor_release(flat);
  oar_tensor_release(wide);
  return out;
}

int main(int argc, char** argv) {
  int32_t device;
  need(oar_device_find(oar_text(argc > 1 ? argv[1] : "cpu"), &device), "device");
  oar_tensor_t *x = matrix(OAR_DTYPE_F32, 24, 40, device), *even = matrix(OAR_DTYPE_F32, 40, 32, device),
               *odd = matrix(OAR_DTYPE_F32, 32, 11, device), *last = matrix(OAR_DTYPE_F32, 11, 10, device), *a, *b, *c,
               *d;
  for (int step = 0; step < 4; ++step) {
    need(oar_matmul(x, even, &a), "matmul");
    need(oar_tanh(a, &b), "tanh");
    oar_tensor_release(a);
    need(oar_matmul(b, odd, &a), "matmul");
    oar_tensor_release(b);
    need(oar_gelu(a, NULL, &b), "gelu");
    oar_tensor_release(a);
    need(oar_matmul(b, last, &c), "matmul"); /* sums of eleven terms */
    need(oar_softmax(c, NULL, &d), "softmax");
    oar_tensor_release(b);
    oar_tensor_release(c);
    oar_tensor_release(d);
  }
  oar_tensor_t *turned, *wide = matrix(OAR_DTYPE_F64, 6, 6, 0);
  const oar_attr_t axes = {OAR_ATTR_INTS, 1, 2, {.ints = (int64_t[]){1, 0}}};
  size_t made;
  need(oar_op_call(oar_text("permute"), &x, 1, &axes, 1, &turned, 1, &made), "permute");
  oar_tensor_t* column = matrix(OAR_DTYPE_F32, 24, 1, device);
  need(oar_matmul(turned, column, &a), "matmul of a turned matrix");
  need(oar_matmul(wide, wide, &b), "matmul in double");
  oar_tensor_t* all[] = {x, even, odd, last, turned, column, wide, a, b};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) oar_tensor_release(all[i]);
  return 0;
}
