// Colours of heat maps, for the pages of the report and of the lab.

const VIRIDIS = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37],
];

export function ends(values) {
  let [low, high, least] = [Infinity, -Infinity, Infinity];
  for (const value of values) {
    if (value === null || Number.isNaN(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
    if (value > 0) least = Math.min(least, value);
  }
  return { low, high, least };
}

// Logarithmic where the largest value is far above the smallest positive one, over at most a factor of 1,000.
export function scaleOf(values, range) {
  const { low, high, least: smallest } = range ?? ends(values);
  const least = Math.max(smallest, high / 1000);
  if (!(high >= low)) return { low: NaN, high: NaN, share: () => 0 };
  if (low >= 0 && high > 10 * least) {
    const span = Math.log(high / least);
    return { low: least, high, log: true, below: smallest < least, share: (value) => Math.log(value / least) / span };
  }
  return { low, high, share: (value) => (high > low ? (value - low) / (high - low) : 0.5) };
}

export function viridis(share) {
  const at = Math.max(0, Math.min(1, share)) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(at));
  return VIRIDIS[i].map((from, k) => Math.round(from + (at - i) * (VIRIDIS[i + 1][k] - from)));
}
