// Places of the tokens of text, an image or a video: one number each, or time, row and column.

/**
 * [time, row, column] of each token. segments: {text: n} or {frames, rows, columns}, in order. As M-RoPE numbers them:
 * text moves all three together; a picture begins where the text would go on, and what follows lies beyond its largest
 * number.
 */
export function places(segments) {
  const made = [];
  let next = 0;
  for (const segment of segments) {
    const own = segment.text ? Array.from({ length: segment.text }, (_, at) => [at, at, at]) : grid(segment);
    made.push(...own.map((place) => place.map((value) => value + next)));
    next = 1 + Math.max(...made.at(-1), next - 1);
  }
  return made;
}

function grid({ frames, rows, columns }) {
  return Array.from({ length: frames * rows * columns }, (_, index) => [
    Math.floor(index / (rows * columns)),
    Math.floor(index / columns) % rows,
    index % columns,
  ]);
}
