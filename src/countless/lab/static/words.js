// Numbers as people read them, and small helpers for elements.

export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${rounded(value / 1e6)}M`;
  if (size >= 1e4) return `${rounded(value / 1e3)}k`;
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  return String(rounded(value));
}

export function whole(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(rounded(value));
}

function rounded(value) {
  return Number(value.toPrecision(3));
}

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const COLOURS = ["--first", "--second", "--third"];
export const DASHES = ["solid", "dashed", "dotted"];
