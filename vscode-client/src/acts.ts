// The commands that act on a kernel, a finding or a rewrite: what the user points at becomes the server's arguments.
import * as vscode from "vscode";
import { live, type Job, type JobsTree } from "./jobs";
import { Outcomes } from "./outcome";
import { findingAt, kernelAt, type Pointed } from "./pointing";
import { EMPTY, type Hotspots } from "./protocol";
import type { Session } from "./session";

type Run = (given?: unknown) => unknown;

/** Name below `optimas.client.` → what it does; each is in the palette, and in the menu of the row it is about. */
export function acts(session: Session, jobs: JobsTree, outcomes: Outcomes): Readonly<Record<string, Run>> {
  let hotspots: Hotspots = EMPTY;
  session.onHotspots((now) => {
    hotspots = now;
  });

  const onKernel = (command: string, ...more: unknown[]): Run => async (given) => {
    const about = await kernelAt(given, hotspots);
    return about === undefined ? undefined : ask(command, about.uri, about.kernel.mangled, ...more);
  };
  const onFinding = (command: string): Run => async (given) => {
    const about = await findingAt(given, hotspots);
    return about?.finding === undefined ? undefined : ask(command, about.uri, about.finding.id);
  };
  const onFile = (command: string, ...more: unknown[]): Run => async (given) => {
    const about = await kernelAt(given, hotspots);
    return about === undefined ? undefined : ask(command, about.uri, ...more);
  };
  const onJob = (what: string, fits: (job: Job) => boolean, run: (job: Job) => unknown): Run => async (given) => {
    const job = isJob(given) ? given : (previewed(given) ?? (await jobs.pick(what, fits)));
    return job === undefined ? undefined : shown(run(job));
  };

  /** Runs a command of the server and shows why it could not be done. */
  async function ask(command: string, ...args: unknown[]): Promise<unknown> {
    return shown(session.execute(command, ...args));
  }

  /** The job whose preview is in front. */
  function previewed(given: unknown): Job | undefined {
    const id = Outcomes.idOf(given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri);
    return jobs.jobs.find((job) => job.id === id);
  }

  return {
    optimizeKernel: onKernel("optimas.optimizeKernel"),
    optimizeFinding: onFinding("optimas.optimizeFinding"),
    tryTransformation: onKernel("optimas.tryTransformation"),
    explain: async (given) => {
      const about = await anything(given, hotspots);
      return about === undefined ? undefined : ask("optimas.explain", about.uri, about.finding?.id ?? about.kernel.mangled);
    },
    showPrompt: async (given) => {
      const about = await anything(given, hotspots);
      return about === undefined ? undefined : ask("optimas.showPrompt", about.uri, about.kernel.mangled, about.finding?.id ?? null);
    },
    profileKernel: onKernel("optimas.profileKernel"),
    compareWithPrevious: onFile("optimas.compareWithPrevious"),
    markKnown: onFinding("optimas.markKnown"),
    unmarkKnown: async (given) => {
      const about = await (isFinding(given) ? findingAt : kernelAt)(given, hotspots);
      const one = isFinding(given) ? [about?.finding?.id] : []; // without one, all of the file
      return about === undefined ? undefined : ask("optimas.unmarkKnown", about.uri, ...one);
    },
    cancelJob: onJob("that runs or waits", live, (job) => session.execute("optimas.cancelJob", job.id)),
    refuseOutcome: onJob("that is not wanted", (job) => job.state === "done", (job) => session.execute("optimas.refuseOutcome", job.id)),
    forgetJob: onJob("that is over", (job) => !live(job), (job) => session.execute("optimas.forgetJob", job.id)),
    showOutcome: onJob("that is over", (job) => !live(job), (job) => outcomes.show(job)),
    previewOutcome: onJob("that can be applied", (job) => job.offer === "ready", (job) => outcomes.preview(job)),
    applyOutcome: onJob("that can be applied", (job) => job.offer === "ready", (job) => outcomes.apply(job)),
    revealJob: onJob("to go to", () => true, (job) => reveal(job)),
  };
}

/** The row's kernel or finding, or the finding on the cursor's line, or the kernel around it. */
async function anything(given: unknown, hotspots: Hotspots): Promise<Pointed | undefined> {
  const editor = vscode.window.activeTextEditor;
  const onLine = hotspots.reports.some((report) =>
    report.kernels.some((kernel) =>
      kernel.findings.some(
        ({ place, known }) => !known && place?.line === editor?.selection.active.line && place?.uri === editor?.document.uri.toString(),
      ),
    ),
  );
  const kind = (given as { kind?: string } | undefined)?.kind;
  return isFinding(given) || (kind !== "kernel" && onLine) ? findingAt(given, hotspots) : kernelAt(given, hotspots);
}

function isFinding(given: unknown): boolean {
  return (given as { kind?: string } | undefined)?.kind === "finding";
}

function isJob(given: unknown): given is Job {
  const job = given as Partial<Job> | undefined;
  return typeof job?.id === "string" && typeof job.title === "string" && typeof job.offer === "string";
}

/** A failure of the server is one sentence for a person. */
async function shown(running: unknown): Promise<unknown> {
  try {
    return await running;
  } catch (error) {
    void vscode.window.showErrorMessage(`Optimas: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

async function reveal(job: Job): Promise<void> {
  const line = job.line ?? 0;
  const selection = new vscode.Range(line, 0, line, 0);
  await vscode.window.showTextDocument(vscode.Uri.parse(job.uri, true), { selection });
}
