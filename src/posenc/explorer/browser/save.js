// Pictures as PNG and SVG files, and text to the clipboard.

/** Save an SVG element as a file. */
export function saveSvg(picture, name) {
  save(new Blob([svgText(picture)], { type: "image/svg+xml" }), `${name}.svg`);
}

/** Save an SVG element as a PNG of twice its size in pixels, on the page's background. */
export async function savePng(picture, name, background) {
  save(await pngOf(picture, background), `${name}.png`);
}

/** Copy text; resolves to whether it was copied. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** The SVG element as the text of a file. */
export function svgText(picture) {
  const copy = picture.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.querySelectorAll("[data-screen-only]").forEach((part) => part.remove());
  return new XMLSerializer().serializeToString(copy);
}

/** The SVG element as a PNG. */
export async function pngOf(picture, background, scale = 2) {
  const width = Number(picture.getAttribute("width"));
  const height = Number(picture.getAttribute("height"));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  context.fillStyle = background || "#ffffff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function copyBySelection(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.setAttribute("aria-hidden", "true");
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  return copied;
}
