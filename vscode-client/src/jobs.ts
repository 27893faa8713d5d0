// Rewrites that were asked for (schema optimas.jobs/1): the view that lists them and the words and signs of each state.
import * as vscode from "vscode";

export interface Speedup {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Of what: the kernel or the whole program. */
  readonly what: string;
}

export interface Job {
  readonly id: string;
  readonly kind: "rewrite" | "profile";
  readonly title: string;
  readonly state: "queued" | "running" | "waiting-for-consent" | "done" | "failed" | "cancelled" | "interrupted" | "stale";
  readonly uri: string;
  readonly kernel: string;
  readonly mangled: string;
  readonly finding: string | null;
  readonly transformation: string | null;
  readonly backend: string;
  readonly stage: string;
  readonly words: string;
  /** Whether another editor on the same folder runs it. */
  readonly elsewhere: boolean;
  readonly step: number;
  readonly steps: number;
  /** Place in the queue, from 1. */
  readonly queued: number | null;
  readonly created: string;
  readonly sentence: string;
  readonly status: string | null;
  readonly proof: "proven" | "refuted" | "not-proven" | null;
  /** Where and when a proof that was recorded elsewhere was made. */
  readonly recorded: string | null;
  readonly speedup: Speedup | null;
  /** Whether the outcome can be applied to the text as it stands. */
  readonly offer: "none" | "ready" | "applied" | "stale";
  /** Today's line of the region, from 0; null when its file is not open. */
  readonly line: number | null;
}

export interface Jobs {
  readonly schema: "optimas.jobs/1";
  readonly jobs: readonly Job[];
}

/** Sent by the server with the list as it is now. */
export const JOBS_CHANGED = "optimas/jobsChanged";

/** What the server's command `optimas.outcome` answers (schema optimas.outcome/1). */
export interface Outcome {
  readonly job: Job;
  /** Everything about the outcome, in Markdown. */
  readonly text: string;
  /** The file's text with the rewrite in it, when the file is open and the rewrite fits. */
  readonly edited: string | null;
  /** Path of the page about it. */
  readonly html: string | null;
}

export function live(job: Job): boolean {
  return job.state === "queued" || job.state === "running" || job.state === "waiting-for-consent";
}

/** What is known about a rewrite, in one line; nothing is called proven that is not. */
export function claim(job: Job): string {
  if (job.proof !== "proven") {
    return "not proven";
  }
  const gain = job.speedup;
  const words =
    gain === null
      ? "proven"
      : `proven: the ${gain.what} takes ${gain.value.toFixed(2)} times less time (95 % interval ${gain.low.toFixed(2)} to ${gain.high.toFixed(2)})`;
  return job.recorded === null ? words : `${words}; ${job.recorded}, not measured now`;
}

/** Sign and words of a job; the sign's shape differs from state to state, not only its colour. */
export function look(job: Job): { readonly icon: string; readonly color?: string; readonly words: string } {
  if (job.elsewhere) {
    return { icon: "multiple-windows", words: job.words };
  }
  switch (job.state) {
    case "queued":
      return { icon: "watch", words: job.queued === null ? "waits" : `waits, number ${String(job.queued)} in the queue` };
    case "waiting-for-consent":
      return { icon: "question", color: "list.warningForeground", words: "waits for your answer" };
    case "running":
      return { icon: "sync~spin", words: job.stage === "" ? "starting" : `${job.stage}, ${String(job.step)} of ${String(job.steps)}` };
    case "failed":
      return { icon: "error", color: "list.errorForeground", words: "failed" };
    case "cancelled":
      return { icon: "circle-slash", words: "cancelled" };
    case "interrupted":
      return { icon: "debug-disconnect", words: "interrupted: the server ended before it did" };
    case "stale":
      return { icon: "history", color: "list.warningForeground", words: "the kernel was edited since: it does not fit" };
    case "done":
      return done(job);
  }
}

function done(job: Job): ReturnType<typeof look> {
  switch (job.offer) {
    case "ready":
      return job.proof === "proven"
        ? { icon: "verified", color: "charts.green", words: `ready, ${job.speedup === null ? "proven" : `proven ${job.speedup.value.toFixed(2)}×`}` }
        : { icon: "unverified", words: "ready, NOT proven" };
    case "applied":
      return { icon: "check", words: "applied; profile again to see what it did" };
    case "stale":
      return { icon: "history", color: "list.warningForeground", words: "the kernel was edited since: it does not fit" };
    case "none":
      return { icon: "dash", words: job.kind === "profile" ? "done" : "nothing to apply" };
  }
}

export class JobsTree implements vscode.TreeDataProvider<Job> {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Job>;
  jobs: readonly Job[] = [];

  constructor() {
    this.view = vscode.window.createTreeView("optimas.jobs", { treeDataProvider: this });
  }

  show(jobs: readonly Job[]): void {
    this.jobs = jobs;
    const waiting = jobs.filter((job) => job.offer === "ready").length;
    this.view.badge = waiting === 0 ? undefined : { value: waiting, tooltip: `${String(waiting)} to apply` };
    this.changed.fire(undefined);
  }

  getChildren(job?: Job): Job[] {
    return job === undefined ? [...this.jobs] : [];
  }

  getTreeItem(job: Job): vscode.TreeItem {
    // Short, because a narrow side bar cuts the end off.
    const about = job.finding ?? job.transformation;
    const item = new vscode.TreeItem(job.kind === "profile" ? job.title : `${job.kernel}${about === null ? "" : ` (${about})`}`);
    const { icon, color, words } = look(job);
    item.id = job.id;
    item.description = words;
    item.iconPath = new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
    const tooltip = new vscode.MarkdownString();
    for (const part of [`${job.title} (${job.backend})`, words, live(job) ? job.words : job.sentence, job.created]) {
      tooltip.appendText(part);
      tooltip.appendMarkdown("\n\n");
    }
    item.tooltip = tooltip;
    item.accessibilityInformation = { label: `${job.title}, ${words}` };
    item.contextValue = live(job) ? "live" : job.offer === "ready" ? "ready" : "over";
    item.command = live(job)
      ? { command: "optimas.client.revealJob", title: "Go to the kernel", arguments: [job] }
      : { command: "optimas.client.showOutcome", title: "Show the outcome", arguments: [job] };
    return item;
  }

  /** Lets the user choose among the jobs that `fits`; the only one is taken without a question. */
  async pick(what: string, fits: (job: Job) => boolean): Promise<Job | undefined> {
    const [only, ...others] = this.jobs.filter(fits);
    if (only === undefined) {
      void vscode.window.showInformationMessage(`Optimas: there is no rewrite ${what}.`);
      return undefined;
    }
    if (others.length === 0) {
      return only;
    }
    const items = [only, ...others].map((job) => {
      const { icon, words } = look(job);
      return { label: `$(${icon}) ${job.title}`, description: words, detail: job.created, job };
    });
    return (await vscode.window.showQuickPick(items, { placeHolder: `Rewrites ${what}` }))?.job;
  }
}

/** In the status bar while something runs: what, and how far; a click shows the list, from where it can be cancelled. */
export class JobsStatus implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("optimas.jobs", vscode.StatusBarAlignment.Left, 9);

  constructor() {
    this.item.name = "Optimas jobs";
    this.item.command = "optimas.jobs.focus";
  }

  show(jobs: readonly Job[]): void {
    const [first, ...others] = jobs.filter(live).reverse();
    if (first === undefined) {
      this.item.hide();
      return;
    }
    const { icon, words } = look(first);
    const more = others.length === 0 ? "" : ` (+${String(others.length)})`;
    this.item.text = `$(${icon}) ${first.kernel}: ${words}${more}`;
    this.item.tooltip = [first, ...others].map((job) => `${job.title}: ${look(job).words}`).join("\n");
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
  }
}
