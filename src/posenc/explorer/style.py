"""How the page looks: system fonts, one column, a contents list next to it where there is room, dark at night."""

STYLE = """\
:root {
  --ink: #1d2733; --soft: #566374; --paper: #ffffff; --card: #f4f6f9; --line: #d5dce4; --link: #0b5cad;
  --notice: #fff4d6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e9ef; --soft: #a3b0bf; --paper: #14191f; --card: #1e252e; --line: #37424f; --link: #7fbcff;
    --notice: #3d3418;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 1.5rem 1.25rem 4rem; max-width: 52rem;
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  color: var(--ink); background: var(--paper); overflow-wrap: break-word;
}
h1 { font-size: 2rem; line-height: 1.2; margin: 0.5rem 0; }
h2 {
  font-size: 1.4rem; line-height: 1.3; margin: 3rem 0 0.75rem; padding-top: 1rem; border-top: 1px solid var(--line);
}
h3 { font-size: 1.1rem; margin: 2rem 0 0.5rem; }
p { margin: 0.75rem 0; }
a { color: var(--link); }
.lead { font-size: 1.15rem; color: var(--soft); margin-top: 0; }
.status { background: var(--notice); padding: 0.6rem 0.9rem; border-radius: 6px; }
nav { margin: 1.5rem 0; padding: 0.75rem 1rem; background: var(--card); border-radius: 8px; }
nav h2 {
  font-size: 0.8rem; letter-spacing: 0.06em; text-transform: uppercase; color: var(--soft); margin: 0; padding: 0;
  border: 0;
}
nav ol { margin: 0.4rem 0 0; padding-left: 1.6rem; }
pre, .wide { overflow-x: auto; }
pre { background: var(--card); padding: 0.8rem 1rem; border-radius: 8px; line-height: 1.45; }
code {
  font: 0.86rem ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.86rem;
  tab-size: 4;
}
.wide { margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.92rem; }
caption { text-align: left; color: var(--soft); padding-bottom: 0.4rem; }
th, td {
  text-align: left; padding: 0.35rem 0.8rem; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: normal;
}
th { border-bottom-width: 2px; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1.5rem 0; }
figure img {
  display: block; max-width: 100%; height: auto; background: #ffffff; padding: 0.5rem; border: 1px solid var(--line);
  border-radius: 8px;
}
figcaption { color: var(--soft); font-size: 0.92rem; margin-top: 0.5rem; }
details { margin: 1rem 0; padding: 0.5rem 1rem; border: 1px solid var(--line); border-radius: 8px; }
summary { cursor: pointer; font-weight: 600; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
@media (min-width: 78rem) {
  body { max-width: 74rem; display: grid; grid-template-columns: 17rem minmax(0, 52rem); column-gap: 3rem; }
  header { grid-column: 1 / -1; }
  nav {
    position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow-y: auto;
    font-size: 0.92rem;
  }
  main { grid-column: 2; }
  main > section:first-child h2 { margin-top: 1rem; border-top: 0; padding-top: 0; }
}
@media (max-width: 30rem) {
  body { padding: 1rem 0.9rem 3rem; }
  h1 { font-size: 1.6rem; }
  pre { padding: 0.6rem 0.7rem; }
}
@media print {
  :root {
    --ink: #000000; --soft: #333333; --paper: #ffffff; --card: #ffffff; --line: #999999; --link: #000000;
    --notice: #ffffff;
  }
  body { display: block; max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  h2, h3, summary, caption { break-after: avoid; }
  figure, tr, pre { break-inside: avoid; }
  pre, .wide { overflow: visible; }
  pre { white-space: pre-wrap; border: 1px solid var(--line); }
  details::details-content { content-visibility: visible; }
}
"""
