// Numbers and times for people, in the report's units.

const DURATIONS: readonly (readonly [number, string])[] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const OCTETS: readonly (readonly [number, string])[] = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];

/** Three digits and a unit. */
function scaled(value: number, units: readonly (readonly [number, string])[]): string | undefined {
  const unit = units.find(([size]) => value >= size);
  return unit && `${digits(value / unit[0])} ${unit[1]}`;
}

function digits(value: number): string {
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

export const duration = (nanoseconds: number | null): string => nanoseconds === null ? "–" : scaled(nanoseconds, DURATIONS) ?? "0 s";
export const octets = (count: number): string => scaled(count, OCTETS) ?? `${count} octets`;
export const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

/** Seconds since the first frame. */
export const seconds = (nanoseconds: number): string => (nanoseconds / 1e9).toFixed(6);

/** The time of day in UTC with microseconds. */
export function timeOfDay(first: bigint, nanoseconds: number): string {
  const microseconds = (first + BigInt(nanoseconds)) / 1000n;
  const second = new Date(Number(microseconds / 1000n)).toISOString().slice(11, 19);
  return `${second}.${String(microseconds % 1_000_000n).padStart(6, "0")}`;
}
