// Whole numbers as types with few binary digits keep them.

/** A number of 0 or more, rounded to so many binary digits, ties to even; ∞ beyond the largest that the type has. */
export function roundedTo(value, digits, largest = Infinity) {
  const step = 2 ** Math.max(0, Math.floor(Math.log2(value || 1)) + 1 - digits);
  const [whole, rest] = [Math.floor(value / step), value % step];
  const up = 2 * rest > step || (2 * rest === step && whole % 2 === 1);
  const rounded = (whole + Number(up)) * step;
  return rounded > largest ? Infinity : rounded;
}
