// Forward pass of a small decoder as posenc.lab trains it: embedding, pre-norm layers of attention and GELU, logits.

import { cosSinTable, sinusoidTable } from "../../browser/angles.js";

const NORM_EPSILON = 1e-5;

/** A model of the page's data, its weights unpacked. places: what its encoding does with positions. */
export function decoder({ shape, weights, places }) {
  const { layers, longest } = shape;
  const [matrices, vectors] = [mapped(weights.matrices, matrix), mapped(weights.vectors, floats)];
  const block = (layer) => {
    const own = (name) => matrices[`stack.blocks.${layer}.${name}`];
    const norm = (index) => normAt(vectors, `stack.blocks.${layer}.norms.${index}`);
    const named = { project: own("project"), mix: own("mix"), up: own("up"), down: own("down") };
    return { ...named, norms: [norm(0), norm(1)] };
  };
  return {
    shape,
    embedding: matrices.embedding,
    blocks: Array.from({ length: layers }, (_, layer) => block(layer)),
    norm: normAt(vectors, "stack.norm"),
    places: unpacked(
      places,
      shape,
      Array.from({ length: longest }, (_, position) => position),
    ),
  };
}

/**
 * Run a model on token numbers at positions 0, 1, …
 *
 * Returns {logits, attention}: logits of the last `last` tokens, row by row; attention[layer][head] the weights of
 * every query (row) over every key.
 */
export function forward(model, tokens, last = 1) {
  const { width, vocabulary } = model.shape;
  const x = embedded(model, tokens);
  const attention = model.blocks.map((block) => layer(x, tokens.length, block, model));
  const end = normed(x.subarray((tokens.length - last) * width), last, model.norm);
  const logits = new Float64Array(last * vocabulary);
  for (let row = 0; row < last; row += 1)
    for (let token = 0; token < vocabulary; token += 1)
      logits[row * vocabulary + token] = dot(end, row * width, model.embedding, token * width, width);
  return { logits, attention };
}

/** Probabilities of the logits of row `row`. */
export function probabilities(logits, vocabulary, row = 0) {
  const values = Float64Array.from(logits.subarray(row * vocabulary, (row + 1) * vocabulary));
  softmax(values, 0, vocabulary);
  return values;
}

/** Scaled embeddings, with the rows of an added encoding; behind its last row, that one is used (clamp). */
function embedded({ embedding, shape: { width }, places }, tokens) {
  const x = new Float64Array(tokens.length * width);
  tokens.forEach((token, at) => {
    for (let channel = 0; channel < width; channel += 1) {
      const index = at * width + channel;
      x[index] = embedding[token * width + channel] * Math.sqrt(width);
      if (places.rows) x[index] += places.rows[Math.min(index, places.rows.length - width + channel)];
    }
  });
  return x;
}

/** x + attention(norm(x)), then x + mlp(norm(x)), in place; the weights of each head come back. */
function layer(x, count, block, { shape: { width, heads }, places }) {
  const head = width / heads;
  const qkv = product(normed(x, count, block.norms[0]), count, width, block.project, 3 * width);
  if (places.cosines) rotate(qkv, count, width, head, places);
  const joined = new Float64Array(count * width);
  const maps = Array.from({ length: heads }, (_, index) => attend(qkv, count, width, head, index, places, joined));
  add(x, product(joined, count, width, block.mix, width));
  const up = product(normed(x, count, block.norms[1]), count, width, block.up, 4 * width);
  for (let index = 0; index < up.length; index += 1) up[index] = gelu(up[index]);
  add(x, product(up, count, 4 * width, block.down, width));
  return maps;
}

/** softmax(q·k/√d + bias)·v of one head, each query with the keys up to itself. */
function attend(qkv, count, width, head, index, { bias }, joined) {
  const map = new Float64Array(count * count);
  const longest = bias ? bias.length / (width / head) : 0;
  for (let query = 0; query < count; query += 1) {
    const q = query * 3 * width + index * head;
    for (let key = 0; key <= query; key += 1) {
      const score = dot(qkv, q, qkv, key * 3 * width + width + index * head, head) / Math.sqrt(head);
      map[query * count + key] = bias ? score + bias[index * longest + query - key] : score;
    }
    softmax(map, query * count, query + 1);
    for (let key = 0; key <= query; key += 1) {
      const [weight, v] = [map[query * count + key], key * 3 * width + 2 * width + index * head];
      for (let channel = 0; channel < head; channel += 1)
        joined[query * width + index * head + channel] += weight * qkv[v + channel];
    }
  }
  return map;
}

/** Rotate each pair of neighbouring channels of queries and keys by the angle of their position. */
function rotate(qkv, count, width, head, { cosines, sines }) {
  const pairs = head / 2;
  for (let at = 0; at < count; at += 1)
    for (let pair = 0; pair < width; pair += 1) {
      // width / 2 pairs of the queries, then as many of the keys
      const angle = at * pairs + (pair % pairs);
      const first = at * 3 * width + 2 * pair;
      const [a, b] = [qkv[first], qkv[first + 1]];
      qkv[first] = a * cosines[angle] - b * sines[angle];
      qkv[first + 1] = a * sines[angle] + b * cosines[angle];
    }
}

function softmax(values, from, count) {
  let [largest, total] = [-Infinity, 0];
  for (let at = from; at < from + count; at += 1) largest = Math.max(largest, values[at]);
  for (let at = from; at < from + count; at += 1) total += values[at] = Math.exp(values[at] - largest);
  for (let at = from; at < from + count; at += 1) values[at] /= total;
}

/** Rows of x with mean 0 and variance 1, scaled and shifted (Ba et al. 2016, layer normalization). */
function normed(x, count, { weight, bias }) {
  const width = weight.length;
  const made = new Float64Array(count * width);
  for (let row = 0; row < count; row += 1) {
    let [mean, variance] = [0, 0];
    for (let at = 0; at < width; at += 1) mean += x[row * width + at] / width;
    for (let at = 0; at < width; at += 1) variance += (x[row * width + at] - mean) ** 2 / width;
    const scale = 1 / Math.sqrt(variance + NORM_EPSILON);
    for (let at = 0; at < width; at += 1)
      made[row * width + at] = (x[row * width + at] - mean) * scale * weight[at] + bias[at];
  }
  return made;
}

/** A matrix (count, inner) times a matrix (inner, outer), row by row. */
function product(left, count, inner, right, outer) {
  const made = new Float64Array(count * outer);
  for (let row = 0; row < count; row += 1)
    for (let at = 0; at < inner; at += 1) {
      const factor = left[row * inner + at];
      for (let column = 0; column < outer; column += 1)
        made[row * outer + column] += factor * right[at * outer + column];
    }
  return made;
}

function dot(left, from, right, start, count) {
  let sum = 0;
  for (let at = 0; at < count; at += 1) sum += left[from + at] * right[start + at];
  return sum;
}

function add(x, more) {
  for (let index = 0; index < x.length; index += 1) x[index] += more[index];
}

/** x·Φ(x), with Abramowitz and Stegun's formula 7.1.26 for the error function, within 1.5e-7. */
function gelu(x) {
  const size = Math.abs(x) * Math.SQRT1_2;
  const t = 1 / (1 + 0.3275911 * size);
  const sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const error = 1 - sum * Math.exp(-size * size);
  return (x * (1 + (x < 0 ? -error : error))) / 2;
}

// Weights come as text: base 64 of little-endian integers and floats.

function unpacked({ kind, ...given }, { width, heads }, positions) {
  if (kind === "sinusoids") return { rows: sinusoidTable(positions, given.sinusoids) };
  if (kind === "rows") return { rows: floats(given.rows) };
  if (kind === "bias") return { bias: floats(given.by_distance) };
  if (kind !== "rotation") return {};
  if (2 * given.frequencies.length !== width / heads) throw new Error("a frequency for each pair of a head is needed");
  const [cosines, sines] = cosSinTable(positions, given.frequencies);
  return { cosines, sines };
}

function matrix({ integers, scales }) {
  const [codes, steps] = [new Int8Array(bytes(integers)), floats(scales)];
  const columns = codes.length / steps.length;
  return Float64Array.from(codes, (code, index) => Math.fround(code * steps[Math.floor(index / columns)]));
}

function floats(text) {
  return Float64Array.from(new Float32Array(bytes(text)));
}

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
}

function normAt(vectors, name) {
  return { weight: vectors[`${name}.weight`], bias: vectors[`${name}.bias`] };
}

function mapped(named, change) {
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [name, change(value)]));
}
