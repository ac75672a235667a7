// Numbers as the lesson writes them.

/** A number with fixed decimals and a true minus sign; nothing is minus zero. */
export function number(value, digits = 2) {
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}
