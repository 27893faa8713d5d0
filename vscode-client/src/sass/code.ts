// The machine code of a kernel as `optimas.machineCode` answers it (schema optimas.sass/1), and which of its instructions
// belong to which source line. Knows nothing of the editor.

/** The other end of a wait; `samples` are those of the instruction that waits. */
export interface Edge {
  readonly row: number;
  readonly reason: string;
  readonly samples: number;
  readonly kind: "raw" | "war" | "sync" | "self" | "drain";
  readonly confidence: "certain" | "dominant" | "shared";
}

/** A file by its index, and a line of it, from 1, as it was when it was profiled. */
export type Profiled = readonly [file: number, line: number];

export interface Row {
  readonly offset: number;
  readonly sass: string;
  /** Innermost first: the places that the instruction was inlined through. */
  readonly places: readonly Profiled[];
  readonly executed: number | null;
  /** Active threads of a warp, mean over its executions. */
  readonly threads: number | null;
  readonly samples: number;
  /** Samples of warps that could not issue. */
  readonly stalled: number;
  readonly reasons: readonly (readonly [reason: string, samples: number])[];
  readonly waits_for: readonly Edge[];
  readonly awaited_by: readonly Edge[];
}

/** One line of the text: about an instruction, or a heading with a place, or neither. */
export interface Shown {
  readonly text: string;
  readonly row: number | null;
  readonly place: Profiled | null;
}

/** Where one of `files` is, if it is here, and where its profiled lines stand in the open text; null: where they were. */
export interface Source {
  readonly uri: string | null;
  readonly lines: readonly (readonly [profiled: number, now: number | null])[] | null;
}

export interface MachineCode {
  readonly schema: "optimas.sass/1";
  readonly report: string;
  readonly device: string;
  readonly kernel: string;
  readonly mangled: string;
  readonly files: readonly string[];
  readonly samples: number;
  readonly stalled: number;
  readonly rows: readonly Row[];
  readonly listing: readonly Shown[];
  readonly sources: readonly Source[];
}

/** A line of today's text, from 1. */
export interface Here {
  readonly uri: string;
  readonly line: number;
}

/** The waits between the instructions at hand and one other: samples in all, and their reasons, most first. */
export interface Wait {
  readonly samples: number;
  readonly reasons: readonly string[];
}

/** Of the kernel's stalled samples: a wait that takes less is not marked. */
const LEAST = 0.001;

/** As the listing has it: what takes less is not spoken of. */
const WORTH = 0.005;

/** The code with its instructions found by text line, by source line, and by each other. */
export class Indexed {
  /** The text line, from 0, of every row. */
  readonly lineOf = new Map<number, number>();
  private readonly rowsAt = new Map<string, number[]>();

  constructor(readonly code: MachineCode) {
    code.listing.forEach((shown, line) => {
      if (shown.row !== null) {
        this.lineOf.set(shown.row, line);
      }
    });
    code.rows.forEach((row, number) => {
      for (const key of new Set(row.places.map(keyOf))) {
        const rows = this.rowsAt.get(key) ?? [];
        rows.push(number);
        this.rowsAt.set(key, rows);
      }
    });
  }

  get text(): string {
    return `${this.code.listing.map((shown) => shown.text).join("\n")}\n`;
  }

  /** The files of the code that are here. */
  get uris(): ReadonlySet<string> {
    return new Set(this.code.sources.flatMap((source) => source.uri ?? []));
  }

  /** The instructions that the text line, from 0, is about: one, or for a heading those of its source line. */
  rowsOfText(line: number): readonly number[] {
    const shown = this.code.listing[line];
    if (shown === undefined) {
      return [];
    }
    if (shown.row !== null) {
      return [shown.row];
    }
    return shown.place === null ? [] : (this.rowsAt.get(keyOf(shown.place)) ?? []);
  }

  /** The instructions that come from a line of today's text, also those inlined into it; ascending. */
  rowsOfSource(uri: string, line: number): readonly number[] {
    const found = new Set<number>();
    this.code.sources.forEach((source, file) => {
      if (source.uri === uri) {
        for (const profiled of profiledAs(source, line)) {
          for (const row of this.rowsAt.get(keyOf([file, profiled])) ?? []) {
            found.add(row);
          }
        }
      }
    });
    return [...found].sort((a, b) => a - b);
  }

  /** Where a profiled place is today; nothing when its file is not here or the line's text has changed. */
  here([file, line]: Profiled): Here | undefined {
    const source = this.code.sources[file];
    if (source === undefined || source.uri === null) {
      return undefined;
    }
    const now = source.lines === null ? line : (source.lines.find(([profiled]) => profiled === line)?.[1] ?? null);
    return now === null ? undefined : { uri: source.uri, line: now };
  }

  /** The places of the text line (from 0) in files that are here, innermost first. */
  placesOfText(line: number): readonly Here[] {
    const shown = this.code.listing[line];
    if (shown === undefined) {
      return [];
    }
    const places = shown.row === null ? (shown.place === null ? [] : [shown.place]) : (this.code.rows[shown.row]?.places ?? []);
    return places.flatMap((place) => this.here(place) ?? []);
  }

  /** Name of a file and line, as the text has it. */
  name([file, line]: Profiled): string {
    return `${/[^/\\]*$/.exec(this.code.files[file] ?? "?")?.[0] ?? "?"}:${String(line)}`;
  }

  /** Of `rows` the one that costs most, by its own stalls and those it causes; undefined where none is worth telling. */
  heaviest(rows: readonly number[]): number | undefined {
    const costs = rows.map((row): readonly [number, number] => {
      const about = this.code.rows[row];
      const caused = (about?.awaited_by ?? []).reduce((sum, edge) => sum + edge.samples, 0);
      return [row, this.share((about?.stalled ?? 0) + caused)];
    });
    const [most] = costs.filter(([, share]) => share >= WORTH).sort(([, a], [, b]) => b - a);
    return most?.[0];
  }

  /** From the opcode, or its predicate, to the end of the instruction, as columns of a text line; the whole line of a heading. */
  sassIn(line: number): readonly [start: number, end: number] {
    const text = this.code.listing[line]?.text ?? "";
    const found = /0x[0-9a-f]+ {2}(\S+(?: \S+)*)/d.exec(text)?.indices?.[1];
    return found ?? [0, text.length];
  }

  /** Part of the kernel's stalled samples, 0 to 1. */
  share(samples: number): number {
    return this.code.stalled === 0 ? 0 : samples / this.code.stalled;
  }

  /** What `rows` wait for, or who waits for them: by the other instruction. Waits among several rows are their own affair. */
  waits(rows: readonly number[], side: "waits_for" | "awaited_by"): ReadonlyMap<number, Wait> {
    const own = new Set(rows);
    const found = new Map<number, { samples: number; reasons: Set<string> }>();
    for (const edge of rows.flatMap((row) => this.code.rows[row]?.[side] ?? [])) {
      if (!own.has(edge.row)) {
        const wait = found.get(edge.row) ?? { samples: 0, reasons: new Set() };
        wait.samples += edge.samples;
        wait.reasons.add(edge.reason);
        found.set(edge.row, wait);
      }
    }
    return new Map(
      [...found]
        .filter(([, wait]) => this.share(wait.samples) >= LEAST)
        .sort(([, a], [, b]) => b.samples - a.samples)
        .map(([row, wait]) => [row, { samples: wait.samples, reasons: [...wait.reasons] }]),
    );
  }
}

function keyOf([file, line]: Profiled): string {
  return `${String(file)}:${String(line)}`;
}

function profiledAs(source: Source, line: number): readonly number[] {
  return source.lines === null ? [line] : source.lines.filter(([, now]) => now === line).map(([profiled]) => profiled);
}

/** An instruction in few words: its offset and opcode. */
export function brief(row: Row): string {
  const opcode = row.sass.split(/\s+/).find((word) => !word.startsWith("@")) ?? "?";
  return `0x${row.offset.toString(16).padStart(4, "0")} ${opcode}`;
}
