// Formulas of the reader: read by a small parser, never run as code.

const FUNCTIONS = {
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  abs: Math.abs,
  floor: Math.floor,
  round: Math.round,
  min: Math.min,
  max: Math.max,
};
const OF_TWO = ["min", "max"];
const NAMES = ["p", "i", "d", "n"];
const CONSTANTS = { pi: Math.PI, e: Math.E };
const TOKEN = /\s*(?:(\d+\.?\d*|\.\d+)|([a-z]+)|(\*\*|[-+*/^%(),]))/uy;
const DEEPEST = 50;

/** A function of {p, i, d, n} from a formula; an Error with a sentence for the reader where it cannot be read. */
export function compile(text) {
  const tokens = read(text.toLowerCase().replaceAll("−", "-").replaceAll("·", "*").replaceAll("π", "pi"));
  let at = 0;
  let depth = 0;
  const here = () => tokens[at];
  const take = (...wanted) => wanted.includes(here()?.text) && tokens[at++].text;
  const expect = (text) => {
    if (!take(text)) throw new Error(`“${text}” is missing ${placeOf(here())}.`);
  };
  const sum = () => {
    if ((depth += 1) > DEEPEST) throw new Error("The brackets go too deep.");
    let left = term();
    for (let sign = take("+", "-"); sign; sign = take("+", "-")) {
      const [one, other, add] = [left, term(), sign === "+"];
      left = (values) => (add ? one(values) + other(values) : one(values) - other(values));
    }
    depth -= 1;
    return left;
  };
  const term = () => {
    let left = signed();
    for (let sign = take("*", "/", "%"); sign; sign = take("*", "/", "%")) {
      const [one, other, operation] = [left, signed(), OPERATIONS[sign]];
      left = (values) => operation(one(values), other(values));
    }
    return left;
  };
  const signed = () => {
    let negative = false;
    for (let sign = take("-", "+"); sign; sign = take("-", "+")) negative = negative !== (sign === "-");
    const value = power();
    return negative ? (values) => -value(values) : value;
  };
  const power = () => {
    const base = atom();
    if (!take("^", "**")) return base;
    const exponent = signed();
    return (values) => base(values) ** exponent(values);
  };
  const atom = () => {
    const token = here();
    if (take("(")) {
      const inner = sum();
      expect(")");
      return inner;
    }
    if (token?.kind === "number") return constant(Number(tokens[at++].text));
    if (token?.kind !== "name") throw new Error(`A number, a name or a bracket is missing ${placeOf(token)}.`);
    const name = tokens[at++].text;
    if (NAMES.includes(name)) return (values) => values[name];
    if (Object.hasOwn(CONSTANTS, name)) return constant(CONSTANTS[name]);
    if (!Object.hasOwn(FUNCTIONS, name)) throw new Error(`“${name}” is no name that it knows, ${placeOf(token)}.`);
    return call(name);
  };
  const call = (name) => {
    expect("(");
    const inner = [sum()];
    if (OF_TWO.includes(name)) {
      expect(",");
      inner.push(sum());
    }
    expect(")");
    const [made, [first, second]] = [FUNCTIONS[name], inner];
    return second ? (values) => made(first(values), second(values)) : (values) => made(first(values));
  };
  const whole = sum();
  if (here()) throw new Error(`“${here().text}” does not fit ${placeOf(here())}.`);
  return whole;
}

const constant = (value) => () => value;

const OPERATIONS = {
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
  "%": (left, right) => left - right * Math.floor(left / right),
};

function read(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  for (let start = 0; text.slice(start).trim(); start = TOKEN.lastIndex) {
    const found = TOKEN.exec(text);
    if (!found) throw new Error(`“${text.slice(start).trim()[0]}” cannot be read, at character ${start + 1}.`);
    const [, digits, name, sign] = found;
    tokens.push({ kind: digits ? "number" : name ? "name" : "sign", text: digits ?? name ?? sign, at: start + 1 });
  }
  return tokens;
}

const placeOf = (token) => (token ? `at character ${token.at}` : "at the end");
