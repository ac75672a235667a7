// The five properties of a formula f(p, i), measured as `posenc.learn.ladder_figures` measures encodings.

const COUNT = 1001;
const SMALL = 2 ** -20;

/** {bounded, continuous, same, linear, closest, pair} of a function of {p, i, d, n}, with d channels. */
export function judge(formula, d) {
  const row = (p, n) => Float64Array.from({ length: d }, (_, i) => formula({ p, i, d, n }));
  const rows = Array.from({ length: COUNT }, (_, p) => row(p, COUNT));
  return {
    bounded: bounded(rows, row),
    continuous: continuous((p) => row(p, COUNT)),
    same: row(1, 2).every((value, i) => value === row(1, 4)[i]),
    linear: linear(rows, d),
    ...nearest(rows),
  };
}

/** The first place where a formula has no finite number: {p, i}, or null. */
export function gap(formula, d) {
  for (let p = 0; p < COUNT; p += 1)
    for (let i = 0; i < d; i += 1) if (!Number.isFinite(formula({ p, i, d, n: COUNT }))) return { p, i };
  return null;
}

const largest = (rows) => rows.reduce((most, row) => Math.max(most, ...row.map(Math.abs)), 0);

/** Whether values of a sentence of a million words are no larger than those of a thousand. */
function bounded(rows, row) {
  const far = Array.from({ length: COUNT }, (_, p) => row(999 * COUNT + p, 1000 * COUNT));
  return largest(far) <= 2 * largest(rows);
}

/** Whether no value jumps, at whole positions or between: a change over a sixteenth of a step is far smaller. */
function continuous(row) {
  for (let at = 0; at < COUNT - 1; at += 1)
    for (const place of [at, at + 0.5, at + 0.303]) {
      const [before, near, far] = [row(place - SMALL / 32), row(place + SMALL / 32), row(place + SMALL)];
      for (let i = 0; i < before.length; i += 1) {
        const [little, more] = [Math.abs(near[i] - before[i]), Math.abs(far[i] - before[i])];
        if (!(little <= 1e-9 || little < more / 2)) return false;
      }
    }
  return true;
}

function nearest(rows) {
  let [best, pair] = [Infinity, [0, 1]];
  for (let one = 0; one < rows.length; one += 1)
    for (let other = one + 1; other < rows.length; other += 1) {
      let distance = 0;
      for (let i = 0; i < rows[one].length && distance < best; i += 1) distance += (rows[one][i] - rows[other][i]) ** 2;
      if (distance < best) [best, pair] = [distance, [one, other]];
    }
  return { closest: Math.sqrt(best), pair };
}

/** Whether one matrix takes every row to the next: whether the later columns lie in the span of the earlier ones. */
function linear(rows, d) {
  const column = (i, shift) => Float64Array.from({ length: COUNT - 1 }, (_, p) => rows[p + shift][i]);
  const basis = [];
  for (let i = 0; i < d; i += 1) {
    const values = column(i, 0);
    const before = length(values);
    withoutSpan(values, basis);
    const after = length(values);
    if (after > 1e-10 * before) basis.push(values.map((value) => value / after));
  }
  const most = 1e-6 * largest(rows);
  return Array.from({ length: d }, (_, i) => withoutSpan(column(i, 1), basis)).every((rest) =>
    rest.every((value) => Math.abs(value) <= most),
  );
}

/** Take from a column what lies along a basis, in place; twice, against rounding. */
function withoutSpan(values, basis) {
  for (let round = 0; round < 2; round += 1)
    for (const unit of basis) {
      const along = unit.reduce((sum, value, index) => sum + value * values[index], 0);
      for (let index = 0; index < values.length; index += 1) values[index] -= along * unit[index];
    }
  return values;
}

const length = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
