// The setting of the page, and how it is written in the address: everything behind the #.

export const FIRST = "env=riverswim&agent=sarsa&agent=sarsa-sr&agent=sarsa-counts";
const MOST = 3;

export function parse(text, catalogue) {
  const query = new URLSearchParams(text.replace(/^#/, ""));
  const columns = query.getAll("agent").slice(0, MOST).map((words) => {
    const [agent, ...pairs] = words.split(",");
    const parameters = {};
    for (const pair of pairs) {
      const [name, value] = pair.split("=");
      parameters[name] = typed(value);
    }
    return { agent, parameters };
  });
  if (!columns.length) return parse(FIRST, catalogue);
  return {
    env: query.get("env") ?? "riverswim",
    map: query.get("map") ?? catalogue.map,
    seed: Number(query.get("seed") ?? 0),
    step: query.has("step") ? Number(query.get("step")) : null,
    columns,
  };
}

export function write(setting) {
  const parts = [`env=${encodeURIComponent(setting.env)}`];
  if (setting.env === "drawn") parts.push(`map=${encodeURIComponent(setting.map)}`);
  for (const { agent, parameters } of setting.columns) {
    const words = [agent, ...Object.entries(parameters).map(([name, value]) => `${name}=${value}`)];
    parts.push(`agent=${encodeURIComponent(words.join(","))}`);
  }
  if (setting.seed) parts.push(`seed=${setting.seed}`);
  if (setting.step !== null) parts.push(`step=${setting.step}`);
  return parts.join("&");
}

function typed(text) {
  if (text === "true" || text === "false") return text === "true";
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}
