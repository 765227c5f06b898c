/* SPDX-License-Identifier: Apache-2.0 */
/* What a user of the C interface writes. */
#include <masu/masu.h>

#include <stdio.h>

int main(void) {
  const float prices[] = {2.5f, 9, 1, 4, 4};
  uint64_t counts[2], places[2];
  float top[2];
  double median, half = 0.5, sum;
  if (masu_histogram(NULL, MASU_HOST, prices, MASU_F32, 5, 2, 0, 10, counts, NULL) != MASU_OK ||
      masu_topk(NULL, MASU_HOST, prices, MASU_F32, 5, 2, MASU_DESCENDING, top, places) != MASU_OK ||
      masu_quantile(NULL, MASU_HOST, prices, MASU_F32, 5, &half, 1, &median) != MASU_OK ||
      masu_sum(NULL, MASU_HOST, prices, MASU_F32, 5, &sum) != MASU_OK) {
    fprintf(stderr, "%s\n", masu_last_error());
    return 1;
  }
  printf("%d %d  %g %g at %d %d  %g  %g\n", (int)counts[0], (int)counts[1], top[0], top[1], (int)places[0],
         (int)places[1], median, sum);
  return 0;
}
