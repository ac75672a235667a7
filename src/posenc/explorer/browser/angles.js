// Cosine and sine of position × frequency: the only numbers that the page computes; all others come from posenc.
//
// The product is a fixed-point number of turns, so whole turns fall off exactly, however large the position is. A
// frequency comes from posenc (`angles.py`) as [whole, l0, l1, l2, l3]: turns for one step of position,
// whole + l0·2^-26 + l1·2^-52 + l2·2^-78 + l3·2^-104. A product of a 27-bit piece and a 26-bit limb is exact in a double.

const UNIT = 2 ** 26;
const PIECE = 2 ** 27;
const COLUMNS = 6;
const LARGEST_POSITION = 2 ** 53;

/** [cosine, sine] of position × frequency, within 1e-15 or so for every position up to 2^53, whole or not. */
export function cosSin(position, frequency) {
  if (!(Math.abs(position) <= LARGEST_POSITION)) return [NaN, NaN];
  const columns = productColumns(Math.abs(position), frequency);
  const [quarter, rest] = quartersOf(columns);
  const [cosine, sine] = rotatedByQuarters(quarter, (rest * Math.PI) / 2);
  return [cosine, position < 0 ? -sine : sine];
}

/** Cosines and sines of every position (rows) and frequency (columns), as two Float64Arrays, row by row. */
export function cosSinTable(positions, frequencies) {
  const cosines = new Float64Array(positions.length * frequencies.length);
  const sines = new Float64Array(cosines.length);
  let index = 0;
  for (const position of positions) {
    for (const frequency of frequencies) {
      [cosines[index], sines[index]] = cosSin(position, frequency);
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

/** The fraction of a turn in columns of 26 bits, the topmost first; whole turns are dropped. */
function productColumns(position, [whole, ...limbs]) {
  const columns = new Float64Array(COLUMNS);
  const integer = Math.floor(position);
  const high = Math.floor(integer / PIECE);
  const low = integer - high * PIECE;
  const fraction = (position - integer) * UNIT;
  const first = Math.floor(fraction);
  const second = Math.floor((fraction - first) * UNIT);
  const rest = (fraction - first - second / UNIT) / UNIT;
  for (let index = 0; index < limbs.length; index += 1) {
    const limb = limbs[index];
    add(columns, index, low * limb);
    add(columns, index - 1, 2 * high * limb); // high stands for high·2^27, one column up and doubled
    add(columns, index + 1, first * limb);
    add(columns, index + 2, second * limb);
  }
  add(columns, 0, first * whole);
  add(columns, 1, second * whole);
  columns[COLUMNS - 1] += rest * (whole + limbs[0] / UNIT) * UNIT ** COLUMNS;
  return carried(columns);
}

/** Add a product of up to 53 bits to a column, its upper bits to the column above. */
function add(columns, index, product) {
  const upper = Math.floor(product / UNIT);
  if (index >= 1 && index <= COLUMNS) columns[index - 1] += upper;
  if (index >= 0 && index < COLUMNS) columns[index] += product - upper * UNIT;
}

function carried(columns) {
  for (let index = COLUMNS - 1; index > 0; index -= 1) {
    const carry = Math.floor(columns[index] / UNIT);
    columns[index] -= carry * UNIT;
    columns[index - 1] += carry;
  }
  columns[0] -= Math.floor(columns[0] / UNIT) * UNIT;
  return columns;
}

/** The nearest quarter turn, 0 to 4, and what is left of it in [-1/2, 1/2], to full relative precision. */
function quartersOf(columns) {
  let scale = 4 / UNIT;
  let rest = columns[0] * scale;
  const quarter = Math.floor(rest + 0.5);
  rest -= quarter;
  for (let index = 1; index < COLUMNS; index += 1) {
    scale /= UNIT;
    rest += columns[index] * scale;
  }
  return [quarter, rest];
}

function rotatedByQuarters(quarter, angle) {
  const cosine = Math.cos(angle);
  const sine = Math.sin(angle);
  return [[cosine, sine], [-sine, cosine], [-cosine, -sine], [sine, -cosine]][quarter % 4];
}
