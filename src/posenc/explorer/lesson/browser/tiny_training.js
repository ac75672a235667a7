// A head of attention small enough to train in the page: it learns to name the word that stood some places before.
//
// x = E + P, softmax(q·k/√d)·v, logits; the gradient is written out below, and a test compares it with differences.

/** Words of the made-up language, width, words of a sentence, and how far back the head has to look. */
export const TASK = { vocabulary: 8, width: 16, length: 16, back: 2 };
const [BATCH, RATE, BETAS, TINY] = [8, 0.01, [0.9, 0.98], 1e-8];
const { vocabulary: V, width: D, length: T, back: K } = TASK;

/** Rows (length, width) of a formula's channels; the channels that it does not have are 0. */
export function rowsOf(formula, channels) {
  return Float64Array.from({ length: T * D }, (_, index) => {
    const [p, i] = [Math.floor(index / D), index % D];
    return i < channels ? formula({ p, i, d: channels, n: T }) : 0;
  });
}

/** A head with weights drawn from a seed, and the moments of Adam. P: its encoding, (length, width). */
export function tinyHead(P, seed = 1) {
  const random = generator(seed);
  const square = [D, D, D ** -0.5];
  const shapes = { E: [V, D, 0.5], Q: square, K: square, V: square, U: [D, V, D ** -0.5] };
  const weights = mapped(shapes, ([rows, columns, size]) =>
    Float64Array.from({ length: rows * columns }, () => size * normal(random)),
  );
  const zeros = () => mapped(weights, (each) => new Float64Array(each.length));
  return { P, weights, moments: [zeros(), zeros()], steps: 0, random };
}

/** One step of Adam on a batch of fresh sentences; the mean loss comes back. */
export function trainStep(head) {
  const gradient = mapped(head.weights, (each) => new Float64Array(each.length));
  let loss = 0;
  for (let index = 0; index < BATCH; index += 1) {
    const words = sentence(head.random);
    loss += backward(head, words, forwardOf(head, words), gradient) / BATCH;
  }
  head.steps += 1;
  for (const [name, weight] of Object.entries(head.weights)) adam(head, weight, gradient[name], name);
  return loss;
}

/** Mean loss of fresh sentences, and the share of words that are named right. */
export function measured(head, count = 64, seed = 99) {
  const random = generator(seed);
  let [loss, right] = [0, 0];
  for (let index = 0; index < count; index += 1) {
    const words = sentence(random);
    const { chances } = forwardOf(head, words);
    for (let at = K; at < T; at += 1) {
      const row = chances.subarray(at * V, (at + 1) * V);
      loss -= Math.log(Math.max(row[words[at - K]], 1e-300));
      right += row.indexOf(Math.max(...row)) === words[at - K] ? 1 : 0;
    }
  }
  const all = count * (T - K);
  return { loss: loss / all, right: right / all };
}

export function forwardOf({ P, weights: w }, words) {
  const x = Float64Array.from(P);
  words.forEach((word, at) => {
    for (let i = 0; i < D; i += 1) x[at * D + i] += w.E[word * D + i];
  });
  const [q, k, v] = ["Q", "K", "V"].map((name) => times(x, w[name], T, D, D));
  const weights = timesTransposed(q, k, T, D, T).map((score) => score / Math.sqrt(D));
  softmaxRows(weights, T);
  const output = times(weights, v, T, T, D);
  const chances = times(output, w.U, T, D, V);
  softmaxRows(chances, V);
  return { x, q, k, v, weights, output, chances };
}

/** Add the gradient of a sentence's mean loss to `gradient`, each a BATCH-th of it; the loss comes back. */
export function backward({ weights: w }, words, { x, q, k, v, weights, output, chances }, gradient) {
  const share = 1 / ((T - K) * BATCH);
  const errors = new Float64Array(T * V);
  let loss = 0;
  for (let at = K; at < T; at += 1) {
    for (let word = 0; word < V; word += 1) errors[at * V + word] = share * chances[at * V + word];
    errors[at * V + words[at - K]] -= share;
    loss -= Math.log(Math.max(chances[at * V + words[at - K]], 1e-300)) / (T - K);
  }
  add(gradient.U, transposedTimes(output, errors, T, D, V));
  const outputs = timesTransposed(errors, w.U, T, V, D);
  const scores = timesTransposed(outputs, v, T, D, T);
  for (let row = 0; row < T; row += 1) {
    let mean = 0;
    for (let key = 0; key < T; key += 1) mean += weights[row * T + key] * scores[row * T + key];
    for (let key = 0; key < T; key += 1)
      scores[row * T + key] = (weights[row * T + key] * (scores[row * T + key] - mean)) / Math.sqrt(D);
  }
  const of = {
    Q: times(scores, k, T, T, D),
    K: transposedTimes(scores, q, T, T, D),
    V: transposedTimes(weights, outputs, T, T, D),
  };
  const inputs = new Float64Array(T * D);
  for (const [name, error] of Object.entries(of)) {
    add(gradient[name], transposedTimes(x, error, T, D, D));
    add(inputs, timesTransposed(error, w[name], T, D, D));
  }
  words.forEach((word, at) => {
    for (let i = 0; i < D; i += 1) gradient.E[word * D + i] += inputs[at * D + i];
  });
  return loss;
}

function adam({ moments: [first, second], steps }, weight, gradient, name) {
  const [m, v] = [first[name], second[name]];
  const [one, two] = BETAS.map((beta) => 1 - beta ** steps);
  for (let index = 0; index < weight.length; index += 1) {
    m[index] += (1 - BETAS[0]) * (gradient[index] - m[index]);
    v[index] += (1 - BETAS[1]) * (gradient[index] ** 2 - v[index]);
    weight[index] -= (RATE * (m[index] / one)) / (Math.sqrt(v[index] / two) + TINY);
  }
}

const sentence = (random) => Array.from({ length: T }, () => Math.floor(V * random()));

/** Numbers from 0 to 1 that a seed decides (Marsaglia 2003, xorshift of 32 bits). */
function generator(seed) {
  let state = (seed * 2654435761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

function softmaxRows(values, columns) {
  for (let row = 0; row < values.length; row += columns) {
    let [largest, total] = [-Infinity, 0];
    for (let at = row; at < row + columns; at += 1) largest = Math.max(largest, values[at]);
    for (let at = row; at < row + columns; at += 1) total += values[at] = Math.exp(values[at] - largest);
    for (let at = row; at < row + columns; at += 1) values[at] /= total;
  }
}

/** left (rows, inner) · right (inner, columns). */
function times(left, right, rows, inner, columns) {
  const made = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row += 1)
    for (let at = 0; at < inner; at += 1)
      for (let column = 0; column < columns; column += 1)
        made[row * columns + column] += left[row * inner + at] * right[at * columns + column];
  return made;
}

/** left (rows, inner) · rightᵀ, right (columns, inner). */
function timesTransposed(left, right, rows, inner, columns) {
  const made = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      for (let at = 0; at < inner; at += 1)
        made[row * columns + column] += left[row * inner + at] * right[column * inner + at];
  return made;
}

/** leftᵀ · right, left (inner, rows), right (inner, columns). */
function transposedTimes(left, right, inner, rows, columns) {
  const made = new Float64Array(rows * columns);
  for (let at = 0; at < inner; at += 1)
    for (let row = 0; row < rows; row += 1)
      for (let column = 0; column < columns; column += 1)
        made[row * columns + column] += left[at * rows + row] * right[at * columns + column];
  return made;
}

function add(sum, more) {
  for (let index = 0; index < sum.length; index += 1) sum[index] += more[index];
}

function mapped(named, change) {
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [name, change(value)]));
}
