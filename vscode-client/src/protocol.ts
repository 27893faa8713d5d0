// What the server's command `optimas.hotspots` answers (schema optimas.hotspots/1) and how it is asked for.

/** A place in today's text; `line` and `character` count from 0 as LSP does. */
export interface Place {
  readonly uri: string;
  readonly line: number;
  readonly character: number;
}

export type Level = "act" | "hot" | "note";

export interface Finding {
  readonly id: string;
  /** The stall reason as the profiler names it, or the name of the rule. */
  readonly rule: string;
  readonly text: string;
  readonly level: Level;
  /** Whether the user marked it as known: it is on no line, and last here. */
  readonly known: boolean;
  /** Share of the kernel's samples, 0 to 1, and the 95 % half-width of it. */
  readonly share: number;
  readonly margin: number;
  readonly samples: number;
  /** The profiled place in words, e.g. `accuracy.cu:34`; empty for what belongs to the whole kernel. */
  readonly where: string;
  /** Null when the file is not in the workspace or the line's text has changed since profiling. */
  readonly place: Place | null;
}

export interface Kernel {
  readonly name: string;
  readonly baseName: string;
  readonly mangled: string;
  readonly launches: number;
  readonly gpuTimeNs: number | null;
  /** Share of the report's GPU time, 0 to 1. */
  readonly share: number | null;
  readonly hot: boolean;
  /** What limits the kernel, in a sentence; empty when the report does not tell. */
  readonly verdict: string;
  readonly unattributed: number;
  readonly samples: number;
  readonly place: Place | null;
  readonly findings: readonly Finding[];
}

export interface Report {
  readonly path: string;
  readonly name: string;
  readonly device: string;
  readonly tool: string;
  /** Whether this report's findings are the ones on the lines now. */
  readonly shown: boolean;
  /** Whether a source file has changed since profiling. */
  readonly stale: boolean;
  readonly notes: readonly string[];
  readonly kernels: readonly Kernel[];
}

/** Share of the report's GPU time that each line of one file holds, 0 to 1; lines count from 0. */
export interface FileHeat {
  readonly uri: string;
  readonly lines: readonly (readonly [line: number, share: number])[];
}

export interface Hotspots {
  readonly schema: "optimas.hotspots/1";
  readonly reports: readonly Report[];
  readonly heat: readonly FileHeat[];
}

export const HOTSPOTS_COMMAND = "optimas.hotspots";

/** Sent by the server when a later answer of the command would differ; it carries nothing. */
export const HOTSPOTS_CHANGED = "optimas/hotspotsChanged";

export const EMPTY: Hotspots = { schema: "optimas.hotspots/1", reports: [], heat: [] };

/** A share as people read it: one digit below 10 %, none above. */
export function percent(share: number): string {
  const value = share * 100;
  return value > 0 && value < 0.1 ? "<0.1 %" : `${value.toFixed(value < 9.95 ? 1 : 0)} %`;
}

/** A duration with the unit that leaves one to three digits before the point. */
export function duration(ns: number): string {
  const steps: readonly (readonly [number, string])[] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [size, unit] of steps) {
    if (ns >= size) {
      return `${(ns / size).toPrecision(3)} ${unit}`;
    }
  }
  return `${ns.toFixed(0)} ns`;
}
