// Cosine and sine of position × frequency: the only numbers that the page computes; all others come from posenc.
//
// The product is a fixed-point number of revolutions, so whole ones fall off exactly, however large the position is. A
// frequency comes from posenc (`browser_frequencies.py`) as [whole, l0, l1, l2, l3]: revolutions for one step of
// position, whole + l0·2^-26 + l1·2^-52 + l2·2^-78 + l3·2^-104. A product of a 27-bit piece and a 26-bit limb is exact
// in a double.

const UNIT = 2 ** 26;
const PIECE = 2 ** 27;
const COLUMNS = 6;
const LARGEST_POSITION = 2 ** 53;

/** Columns of the product in hand and [cosine, sine] of it: written again and again, since a picture has 100,000. */
const columns = new Float64Array(COLUMNS);
const result = new Float64Array(2);

/** [cosine, sine] of position × frequency, within 1e-15 or so for every position up to 2^53, whole or not. */
export function cosSin(position, frequency) {
  compute(position, frequency);
  return [result[0], result[1]];
}

/** Cosines and sines of every position (rows) and frequency (columns), as two Float64Arrays, row by row. */
export function cosSinTable(positions, frequencies) {
  const cosines = new Float64Array(positions.length * frequencies.length);
  const sines = new Float64Array(cosines.length);
  let index = 0;
  for (const position of positions) {
    for (const frequency of frequencies) {
      compute(position, frequency);
      cosines[index] = result[0];
      sines[index] = result[1];
      index += 1;
    }
  }
  return [cosines, sines];
}

/**
 * The vectors of a sinusoidal encoding: positions.length × width values, row by row.
 *
 * sinusoids: what `angles.sinusoids` of posenc sends: {frequencies, layout, first, width, factor, start, channels};
 * what lies behind the `width` channels of sinusoids, up to `channels`, is 0.
 */
export function sinusoidTable(positions, sinusoids) {
  const { frequencies, layout, first, width, factor, start, channels } = sinusoids;
  const pairs = frequencies.length;
  const shifted = positions.map((position) => position + start);
  const [cosines, sines] = cosSinTable(shifted, frequencies);
  const halves = first === "sine" ? [sines, cosines] : [cosines, sines];
  const table = new Float64Array(positions.length * channels);
  for (let row = 0; row < positions.length; row += 1) {
    for (let channel = 0; channel < width; channel += 1) {
      const interleaved = layout === "interleaved";
      const half = interleaved ? channel % 2 : Math.floor(channel / pairs);
      const pair = interleaved ? Math.floor(channel / 2) : channel % pairs;
      table[row * channels + channel] = factor * halves[half][row * pairs + pair];
    }
  }
  return table;
}

function compute(position, frequency) {
  if (!(Math.abs(position) <= LARGEST_POSITION)) {
    result.fill(NaN);
    return;
  }
  multiply(Math.abs(position), frequency);
  carry();
  rotate();
  if (position < 0) result[1] = -result[1];
}

/** The fraction of a revolution in columns of 26 bits, the topmost first; whole revolutions are dropped. */
function multiply(position, frequency) {
  const integer = Math.floor(position);
  const high = Math.floor(integer / PIECE);
  const low = integer - high * PIECE;
  const fraction = (position - integer) * UNIT;
  const first = Math.floor(fraction);
  const second = Math.floor((fraction - first) * UNIT);
  columns.fill(0);
  for (let index = 0; index < frequency.length - 1; index += 1) {
    const limb = frequency[index + 1];
    add(index, low * limb);
    if (high > 0) add(index - 1, 2 * high * limb); // high stands for high·2^27, one column up and doubled
    if (fraction > 0) {
      add(index + 1, first * limb);
      add(index + 2, second * limb);
    }
  }
  if (fraction === 0) return;
  const [whole, limb] = frequency;
  add(0, first * whole);
  add(1, second * whole);
  const rest = (fraction - first - second / UNIT) / UNIT;
  columns[COLUMNS - 1] += rest * (whole + limb / UNIT) * UNIT ** COLUMNS;
}

/** Add a product of up to 53 bits to a column, its upper bits to the column above. */
function add(index, product) {
  const upper = Math.floor(product / UNIT);
  if (index >= 1 && index <= COLUMNS) columns[index - 1] += upper;
  if (index >= 0 && index < COLUMNS) columns[index] += product - upper * UNIT;
}

function carry() {
  for (let index = COLUMNS - 1; index > 0; index -= 1) {
    const over = Math.floor(columns[index] / UNIT);
    columns[index] -= over * UNIT;
    columns[index - 1] += over;
  }
  columns[0] -= Math.floor(columns[0] / UNIT) * UNIT;
}

/**
 * Cosine and sine from the nearest quarter turn and what is left of it. Their errors are absolute, not relative: a
 * frequency ends at 2^-104 of a revolution, and `multiply` keeps 26 bits of it for what a position has below 2^-52. So
 * a tiny sine, as at position 1e-30, has few right digits.
 */
function rotate() {
  let scale = 4 / UNIT;
  let rest = columns[0] * scale;
  const quarter = Math.floor(rest + 0.5);
  rest -= quarter;
  for (let index = 1; index < COLUMNS; index += 1) {
    scale /= UNIT;
    rest += columns[index] * scale;
  }
  const cosine = Math.cos((rest * Math.PI) / 2);
  const sine = Math.sin((rest * Math.PI) / 2);
  const odd = quarter % 2 === 1;
  const sign = quarter % 4 < 2 ? 1 : -1;
  result[0] = sign * (odd ? -sine : cosine);
  result[1] = sign * (odd ? cosine : sine);
}
