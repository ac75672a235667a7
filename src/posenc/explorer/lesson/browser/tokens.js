// Text as the small models read it: the byte-level pieces that posenc learned from the training text.

/** Parts of a text that pieces never cross, as in GPT-2: words with the space before, numbers, signs, white space. */
const PARTS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
/** A text is cut before words that begin a line after an empty one. */
const PARAGRAPHS = /(?<=\n\n)(?=\S)/u;

/** pieces: the bytes of each, a character for each byte. merges: [left, right, merged] in the order of learning. */
export function tokenizer({ pieces, merges }) {
  const numberOf = new Map(pieces.map((piece, number) => [piece, number]));
  const rankOf = new Map(merges.map(([left, right, merged], rank) => [`${left} ${right}`, [rank, merged]]));
  const writer = new TextEncoder();
  const encode = (text) =>
    text.split(PARAGRAPHS).flatMap((paragraph) =>
      [...paragraph.matchAll(PARTS)].flatMap(([part]) =>
        merged(
          Array.from(writer.encode(part), (byte) => numberOf.get(String.fromCharCode(byte))),
          rankOf,
        ),
      ),
    );
  const decode = (numbers) => {
    const bytes = numbers.map((number) => pieces[number]).join("");
    return new TextDecoder().decode(Uint8Array.from(bytes, (letter) => letter.charCodeAt(0)));
  };
  return { encode, decode };
}

/** Join neighbours, those first that were learned first, until no pair is a piece. */
function merged(numbers, rankOf) {
  for (;;) {
    let best = [Infinity];
    for (let at = 0; at + 1 < numbers.length; at += 1) {
      const found = rankOf.get(`${numbers[at]} ${numbers[at + 1]}`);
      if (found && found[0] < best[0]) best = [...found, at];
    }
    const [, joined, at] = best;
    if (at === undefined) return numbers;
    numbers.splice(at, 2, joined);
  }
}
