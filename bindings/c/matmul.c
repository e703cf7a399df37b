/* matmul.c - a product in plain C11: chooses a device, multiplies, and reads an error.
 *
 *   cc -std=c11 matmul.c $(pkg-config --cflags --libs oarlock) -o matmul && ./matmul [device]
 */
#include <oarlock/app.h>
#include <stdio.h>
#include <stdlib.h>

static void check(oar_status_t status) {
  if (status == OAR_OK) return;
  fprintf(stderr, "matmul: %s\n", oar_error_text());
  exit(1);
}

int main(int argc, char** argv) {
  int32_t device;
  check(oar_device_find(oar_text(argc > 1 ? argv[1] : "cpu"), &device));

  const float a_values[] = {1, 2, 3, 4, 5, 6}, b_values[] = {1, 0, 0, 1, 1, 1};
  const int64_t a_shape[] = {2, 3}, b_shape[] = {3, 2};
  oar_tensor_t *a, *b, *c;
  check(oar_tensor_create(OAR_DTYPE_F32, 2, a_shape, a_values, device, &a));
  check(oar_tensor_create(OAR_DTYPE_F32, 2, b_shape, b_values, device, &b));
  check(oar_matmul(a, b, &c));

  float result[4];
  check(oar_tensor_read(c, result, sizeof result));
  char name[64];
  check(oar_device_name(device, name, sizeof name, NULL));
  printf("%s on %s: [[%g, %g], [%g, %g]]\n", "a x b", name, result[0], result[1], result[2], result[3]);

  /* Shapes that don't fit are an error with both shapes in it, and nothing is lost. */
  oar_tensor_t* wrong = NULL;
  if (oar_matmul(a, a, &wrong) == OAR_OK) return 1;
  printf("as it should be, an error: %s\n", oar_error_text());

  check(oar_tensor_release(a));
  check(oar_tensor_release(b));
  check(oar_tensor_release(c));
  return result[0] == 4 && result[1] == 5 && result[2] == 10 && result[3] == 11 ? 0 : 1;
}
