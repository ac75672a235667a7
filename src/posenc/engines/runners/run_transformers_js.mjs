// transformers.js as a user calls it: a local folder is loaded, and each line of stdin is a batch of prompts.
//
// node run_transformers_js.mjs LIBRARY FOLDER CLASS: a line {"tokens": [[[...], ...]], "answer": "FILE"}, with the
// decoder's tokens besides where there is one, is answered with a line {"shape": [batch, length, words]} when the
// logits are in the file, as float32.

import { writeFileSync } from "node:fs";
import { register } from "node:module";
import { basename, dirname } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [library, folder, auto] = process.argv.slice(2);
// It imports a library for images, which no text needs.
const hooks = `export const resolve = (name, context, next) => name === "sharp"
    ? { url: "data:text/javascript,export default {}", shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
const { [auto]: AutoModel, Tensor, cat, env } = await import(pathToFileURL(library).href);

// Masked tokens before each prompt: positions must come from the mask.
const PADDED = 3;

const integers = (rows) =>
    new Tensor("int64", BigInt64Array.from(rows.flat(), BigInt), [rows.length, rows[0].length]);
const filled = (rows, value) => rows.map((row) => row.map(() => value));

// Logits of prompts of one length, padded on the left: the second half follows upon the cache of the first.
async function continued(model, prompts) {
    const padded = prompts.map((prompt) => [...Array(PADDED).fill(prompt[0]), ...prompt]);
    const mask = integers(padded.map((row) => row.map((_, at) => (at < PADDED ? 0 : 1))));
    const length = prompts[0].length;
    const cut = PADDED + Math.ceil(length / 2);
    const inputs = {
        input_ids: integers(padded.map((row) => row.slice(0, cut))),
        attention_mask: mask.slice(null, [0, cut]),
    };
    const first = await model(inputs);
    const head = first.logits.slice(null, [PADDED, cut]);
    if (cut === PADDED + length) return head;
    const { past_key_values } = model._update_model_kwargs_for_generation({
        generated_input_ids: filled(prompts, 0).map((row) => [BigInt(row[0])]),
        outputs: first,
        model_inputs: { ...inputs },
        is_encoder_decoder: false,
    });
    const rest = integers(padded.map((row) => row.slice(cut)));
    const second = await model({ input_ids: rest, attention_mask: mask, past_key_values });
    return cat([head, second.logits], 1);
}

// Logits of a model that sees all tokens at once, or of the decoder behind one.
async function whole(model, prompts, targets) {
    const inputs = { input_ids: integers(prompts), attention_mask: integers(filled(prompts, 1)) };
    if (targets) inputs.decoder_input_ids = integers(targets);
    return (await model(inputs)).logits;
}

env.allowRemoteModels = false;
env.localModelPath = dirname(folder);
const model = await AutoModel.from_pretrained(basename(folder), {
    dtype: "fp32",
    device: "cpu",
    local_files_only: true,
    session_options: { intraOpNumThreads: 1 },
});
console.log(JSON.stringify({ version: env.version }));
const logits = auto === "AutoModelForCausalLM" ? continued : whole;
for await (const line of createInterface({ input: process.stdin })) {
    const { tokens, answer } = JSON.parse(line);
    const { data, dims } = await logits(model, ...tokens);
    writeFileSync(answer, data);
    console.log(JSON.stringify({ shape: dims }));
}
