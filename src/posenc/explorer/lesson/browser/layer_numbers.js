// A layer of attention on a few words, number by number, and where each number comes from.

import { cosSin, sinusoidTable } from "../../browser/angles.js";
import { number } from "./number.js";

const shown = (value) => number(value, 3);
const sum = (values) => values.reduce((total, value) => total + value, 0);
const dot = (left, right) => sum(left.map((value, index) => value * right[index]));
const timesMatrix = (row, matrix) =>
  matrix[0].map((_, column) =>
    dot(
      row,
      matrix.map((line) => line[column]),
    ),
  );

/** The steps of the layer: `of` is the part of a run that a step shows, keys whether its columns are words. */
export const STEPS = [
  { of: "E", name: "E", says: () => "Embedding E: a row of the table for each word" },
  {
    of: "X",
    name: "X",
    says: (kind) => (kind === "added" ? "X = E + P: the place is added" : "X = E: nothing is added"),
  },
  {
    of: "q",
    name: "q",
    says: (kind) => `Queries: ${kind === "rotated" ? "X·W_Q, then rotated by the place" : "X·W_Q"}`,
  },
  { of: "k", name: "k", says: (kind) => `Keys: ${kind === "rotated" ? "X·W_K, then rotated by the place" : "X·W_K"}` },
  { of: "v", name: "v", says: () => "Values: X·W_V, never rotated" },
  { of: "scores", name: "scores", says: () => "Scores: q·k/√d, each word (row) with each word", keys: true },
  { of: "weights", name: "weights", says: () => "Weights: softmax of each row of scores", keys: true },
  { of: "output", name: "output", says: () => "Output: the values, averaged by the weights" },
];

/** All numbers of the layer for words in an order. kind: "none", "added" or "rotated". Rows stand as the words do. */
export function run({ E, W, added, rotated }, order, kind) {
  const width = E[0].length;
  const table = Array.from(
    sinusoidTable(
      order.map((_, at) => at),
      added.sinusoids,
    ),
  );
  const P = order.map((_, at) =>
    table.slice(at * width, (at + 1) * width).map((each) => (kind === "added" ? each : 0)),
  );
  const own = order.map((word) => E[word]);
  const X = own.map((row, at) => row.map((value, channel) => value + P[at][channel]));
  const plain = Object.fromEntries(
    Object.entries(W).map(([name, matrix]) => [name, X.map((x) => timesMatrix(x, matrix))]),
  );
  const turned = (rows) => rows.map((row, at) => (kind === "rotated" ? rotate(row, at, rotated.frequencies) : row));
  const [q, k, v] = [turned(plain.q), turned(plain.k), plain.v];
  const scores = q.map((query) => k.map((key) => dot(query, key) / Math.sqrt(width)));
  const weights = scores.map((row) => {
    const powers = row.map(Math.exp);
    return powers.map((power) => power / sum(powers));
  });
  const output = weights.map((row) =>
    v[0].map((_, channel) =>
      dot(
        row,
        v.map((value) => value[channel]),
      ),
    ),
  );
  return { order, kind, E: own, P, X, plain, q, k, v, scores, weights, output, W, rotated, width };
}

/** Rotate pairs of neighbouring channels by the angle of position `at`. */
function rotate(row, at, frequencies) {
  return frequencies.flatMap((frequency, pair) => {
    const [cosine, sine] = cosSin(at, frequency);
    const [a, b] = row.slice(2 * pair, 2 * pair + 2);
    return [a * cosine - b * sine, a * sine + b * cosine];
  });
}

/** The first step, word and column whose numbers differ between two runs, or null: {step, word, column}. */
export function firstDifference(one, other) {
  for (const [step, { of, keys }] of STEPS.entries())
    for (const word of one.E.keys())
      for (const column of one[of][0].keys())
        if (Math.abs(at(one, of, keys, word, column) - at(other, of, keys, word, column)) > 1e-9)
          return { step, word, column };
  return null;
}

/** A number of a run by its word, and by its channel or by the word of its key. */
function at(ran, of, keys, word, column) {
  return ran[of][ran.order.indexOf(word)][keys ? ran.order.indexOf(column) : column];
}

/** Lines that say where a number comes from: row and column as the table shows them. */
export function origin(ran, step, row, column, words) {
  const { of } = STEPS[step];
  const word = (place) => words[ran.order[place]];
  const result = shown(ran[of][row][column]);
  if (of === "E") return [`row “${word(row)}” of the table of embeddings, channel ${column}: ${result}`];
  if (of === "X") return fromSum(ran, row, column, result);
  if ("qkv".includes(of)) return fromProduct(ran, of, row, column, result);
  if (of === "scores") return fromVectors(ran, row, column, result, word);
  if (of === "weights") {
    const powers = ran.scores[row].map((score) => `e^${shown(score)}`);
    return [`${powers[column]} / (${powers.join(" + ")}) = ${result}`];
  }
  const parts = ran.weights[row].map((weight, key) => `${shown(weight)}·${shown(ran.v[key][column])}`);
  return [`weights · values of channel ${column}:`, `${parts.join(" + ")} = ${result}`];
}

function fromSum({ kind, E, P }, row, column, result) {
  if (kind !== "added") return [`E, unchanged: ${result}`];
  const angle = `${row} / 10000^(${column - (column % 2)}/4)`;
  return [
    `P = ${column % 2 ? "cos" : "sin"}(${angle}) = ${shown(P[row][column])}, at position ${row}`,
    `E + P = ${shown(E[row][column])} + ${bracketed(P[row][column])} = ${result}`,
  ];
}

function fromProduct(ran, of, row, column, result) {
  const product = (channel) => {
    const parts = ran.X[row].map((value, index) => `${shown(value)}·${bracketed(ran.W[of][index][channel], 1)}`);
    return `${of}[${channel}] = ${parts.join(" + ")} = ${shown(ran.plain[of][row][channel])}`;
  };
  if (ran.kind !== "rotated" || of === "v") return [product(column)];
  const first = column - (column % 2);
  const [cosine, sine] = cosSin(row, ran.rotated.frequencies[first / 2]).map(shown);
  const [a, b] = ran.plain[of][row].slice(first, first + 2).map(shown);
  const turned = column % 2 ? `${a}·${sine} + ${b}·${cosine}` : `${a}·${cosine} − ${b}·${sine}`;
  return [
    product(first),
    product(first + 1),
    `rotated by θ = ${row}·10000^(−${first}/4), cos θ = ${cosine}, sin θ = ${sine}:`,
    `${turned} = ${result}`,
  ];
}

/** A score from its vectors; with an added encoding, its four terms. */
function fromVectors(ran, row, column, result, word) {
  const root = Math.sqrt(ran.width);
  const parts = ran.q[row].map((value, channel) => `${shown(value)}·${bracketed(ran.k[column][channel])}`);
  const lines = [
    `q of “${word(row)}” · k of “${word(column)}” / √${ran.width}:`,
    `(${parts.join(" + ")}) / ${root} = ${result}`,
  ];
  if (ran.kind !== "added") return lines;
  const terms = fourTerms(ran, row, column).map(([name, value]) => `${name}: ${shown(value)}`);
  return [...lines, "Its four terms, which sum to it:", ...terms];
}

/** The four terms of a score with an added encoding: [name, value]. */
export function fourTerms({ E, P, W, width }, row, column) {
  const sides = { content: E, position: P };
  return Object.entries(sides).flatMap(([left, of]) =>
    Object.entries(sides).map(([right, other]) => [
      `${left} · ${right}`,
      dot(timesMatrix(of[row], W.q), timesMatrix(other[column], W.k)) / Math.sqrt(width),
    ]),
  );
}

const bracketed = (value, digits = 3) => (value < 0 ? `(${number(value, digits)})` : number(value, digits));
