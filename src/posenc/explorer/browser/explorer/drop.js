// A place where a config.json is dropped, chosen or pasted: read on this page, as text, and parsed as JSON.

import { button } from "../controls.js";
import { element, freshId } from "../dom.js";

const LARGEST = 1 << 20;

/** label: what belongs here. onConfig(config, name) gets the object; onError(line) a line. With set(text, name). */
export function dropZone({ label, onConfig, onError, disabled }) {
  const id = freshId("drop");
  const field = element("textarea", {
    id,
    rows: 5,
    spellcheck: "false",
    placeholder: '{"model_type": "llama", …}',
    disabled,
  });
  const file = element("input", {
    type: "file",
    accept: ".json,application/json",
    class: "hidden-file",
    tabindex: "-1",
    "aria-hidden": "true",
  });
  const choose = button("Choose a file", () => file.click(), { disabled });
  const name = element("span", { class: "hint" }, "or drop it here, or paste it below");
  const zone = element(
    "div",
    { class: "drop" },
    element("div", { class: "drop-head" }, element("label", { for: id }, label), choose, name, file),
    field,
  );
  const take = (text, from) => {
    const line = parsed(text, from, onConfig);
    if (line) onError(line);
  };
  const read = async (chosen) => {
    if (!chosen) return;
    if (chosen.size > LARGEST) {
      onError(
        `config must be a file of at most 1 MB; got ${chosen.name}, ${Math.round(chosen.size / 2 ** 20)} MB. ` +
          "Give config.json, not the weights.",
      );
      return;
    }
    field.value = await chosen.text();
    name.textContent = chosen.name;
    take(field.value, chosen.name);
  };
  let timer;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => take(field.value, "config"), 300);
  });
  file.addEventListener("change", () => read(file.files[0]));
  zone.addEventListener("dragover", (event) => event.preventDefault());
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });
  zone.set = (config, from) => {
    field.value = typeof config === "string" ? config : JSON.stringify(config, null, 1);
    name.textContent = from;
  };
  return zone;
}

/** Hand on a config, or an encoding as text; the line that says why not. */
function parsed(text, from, onConfig) {
  if (!text.trim()) return "";
  if (/^\s*[A-Za-z_]\w*\(/.test(text)) return onConfig(text.trim(), from) || "";
  try {
    const config = JSON.parse(text);
    if (config === null || typeof config !== "object" || Array.isArray(config)) {
      return "config must be a JSON object; got another value. Give the config.json of a model.";
    }
    return onConfig(config, from) || "";
  } catch (error) {
    return `config must be JSON; got text that is none (${error.message}). Give the config.json of a model.`;
  }
}
