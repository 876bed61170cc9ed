// Questions to the server. A newer question ends the one before it.

const client = crypto.randomUUID();
let number = 0;
let asking = null;

export async function catalogue() {
  return (await answered(fetch("catalogue"))).json();
}

// Calls `draw(picture)` for every answer until all runs are in, or a newer question comes.
export async function picture(setting, draw) {
  asking?.abort();
  const own = (asking = new AbortController());
  number += 1;
  const body = question(setting);
  try {
    for (;;) {
      const answer = unpack(await post("picture", body, own.signal));
      if (own.signal.aborted) return;
      await draw(answer);
      if (answer.done) return;
    }
  } catch (error) {
    if (!own.signal.aborted && !error.superseded) throw error;
  }
}

export async function representation(setting, column, step) {
  return unpack(await post("sr", { ...question(setting), column, step }));
}

export function exported(setting) {
  return post("export", question(setting));
}

function question({ env, map, seed, columns }) {
  return { client, number, env, seed, columns, ...(env === "drawn" ? { map } : {}) };
}

async function post(path, body, signal) {
  const response = fetch(path, { method: "POST", body: JSON.stringify(body), signal });
  return (await answered(response)).arrayBuffer();
}

async function answered(promise) {
  let response;
  try {
    response = await promise;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The lab does not answer: is `countless lab` still running?");
  }
  if (response.ok) return response;
  const error = new Error(await response.text());
  error.superseded = response.status === 409;
  throw error;
}

// A JSON header and 32-bit floats, as wire.py packs them.
function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = {};
  for (const [name, { offset, shape }] of Object.entries(header.arrays)) {
    const size = shape.reduce((product, side) => product * side, 1);
    arrays[name] = new Float32Array(buffer, 4 + length + 4 * offset, size);
  }
  return { ...header, arrays };
}
