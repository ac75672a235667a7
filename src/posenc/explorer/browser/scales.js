// Axes: where ticks stand, and how a value becomes a place in pixels.

/** A linear or logarithmic axis from `from` to `to` (values) onto `start` to `end` (pixels). */
export function axis({ from, to, start, end, log = false }) {
  const place = log ? Math.log10 : Number;
  const [low, high] = [place(from), place(to)];
  const span = high - low || 1;
  return {
    at: (value) => start + ((place(value) - low) / span) * (end - start),
    ticks: (count) => (log ? logTicks(low, high, count) : linearTicks(from, to, count)),
  };
}

/** About `count` round numbers from low to high. */
export function linearTicks(low, high, count = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((each) => each >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** Which of `count` rows or columns get a name, when each name needs `needed` pixels and a cell has `size`. */
export function namedIndices(count, size, needed) {
  const least = Math.max(1, Math.ceil(needed / size));
  const step = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512, 1000].find(
    (each) => each >= least,
  );
  return Array.from({ length: Math.ceil(count / (step || count)) }, (_, index) => index * (step || count));
}

/** How many times larger than usual text is: on a projector, or where the reader wants it so. */
export function zoom() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
}

/** How many times larger than usual the letters of a picture are: on slides as large as text, at any zoom of a part. */
export function letterScale(part) {
  const slides = document.body.classList.contains("slides");
  return slides ? ((16 / 11) * zoom()) / (part.currentCSSZoom ?? 1) : zoom();
}

function logTicks(low, high, count) {
  if (high - low < 2) {
    const digits = [1, 2, 5].flatMap((digit) => [-1, 0, 1, 2].map((power) => digit * 10 ** (Math.floor(low) + power)));
    const inside = digits.filter((tick) => Math.log10(tick) >= low - 1e-9 && Math.log10(tick) <= high + 1e-9);
    return inside.sort((one, other) => one - other).map((tick) => Number(tick.toPrecision(12)));
  }
  const step = Math.max(1, Math.ceil((high - low) / count));
  const first = Math.ceil(low - 1e-9);
  const powers = [];
  for (let power = first; power <= high + 1e-9; power += step) powers.push(10 ** power);
  return powers.length > 1 ? powers : linearTicks(10 ** low, 10 ** high, count).filter((tick) => tick > 0);
}
