// What became of a rewrite: said once when it ends, with what can be done about it; its page, its preview, its edit.
import { basename } from "node:path";
import * as vscode from "vscode";
import { claim, live, type Job, type Outcome } from "./jobs";
import type { Pages } from "./pages";

const SCHEME = "optimas-rewrite";

const PREVIEW = "Preview";
const APPLY = "Apply";
const OUTCOME = "Show Outcome";

type Execute = (command: string, ...args: unknown[]) => Promise<unknown>;

export class Outcomes implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly texts = new Map<string, string>();
  private readonly provider: vscode.Disposable;
  private running: ReadonlySet<string> = new Set();

  constructor(
    private readonly execute: Execute,
    private readonly pages: Pages,
  ) {
    this.provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? "";
  }

  /** Takes the list as it is now, and says how those ended that ran before. */
  follow(jobs: readonly Job[]): void {
    const ended = jobs.filter((job) => this.running.has(job.id) && !live(job));
    this.running = new Set(jobs.filter((job) => live(job) && !job.elsewhere).map((job) => job.id));
    for (const job of ended) {
      void this.announce(job);
    }
  }

  private async announce(job: Job): Promise<void> {
    if (job.state === "cancelled") {
      return;
    }
    let picked: string | undefined;
    if (job.state === "failed" || job.state === "interrupted") {
      picked = await vscode.window.showWarningMessage(`${job.title}: ${job.sentence}`, OUTCOME);
    } else if (job.state === "stale") {
      const words = "the kernel was edited meanwhile, so the result does not fit; it fits again once the text is as before";
      picked = await vscode.window.showWarningMessage(`${job.title}: ${words}.`, OUTCOME);
    } else if (job.offer === "ready") {
      picked = await vscode.window.showInformationMessage(`${job.title}: ${claim(job)}.`, PREVIEW, APPLY, OUTCOME);
    } else {
      picked = await vscode.window.showInformationMessage(`${job.title}: ${job.sentence}`, OUTCOME);
    }
    if (picked === PREVIEW) {
      await this.preview(job);
    } else if (picked === APPLY) {
      await this.apply(job);
    } else if (picked === OUTCOME) {
      await this.show(job);
    }
  }

  /** The page about the outcome, or its text where there is no page. */
  async show(job: Job): Promise<void> {
    const outcome = (await this.execute("optimas.outcome", job.id)) as Outcome;
    if (outcome.html === null) {
      await this.execute("optimas.openOutcome", job.id);
    } else {
      await this.pages.show(outcome.html);
    }
  }

  /** The file as it is and as it would be, side by side; nothing is changed. */
  async preview(job: Job): Promise<void> {
    const file = vscode.Uri.parse(job.uri, true);
    await vscode.workspace.openTextDocument(file);
    const outcome = (await this.execute("optimas.outcome", job.id)) as Outcome;
    if (outcome.edited === null) {
      const why = outcome.job.offer === "applied" ? "the text is the rewritten one already" : "it does not fit the text as it is now";
      void vscode.window.showInformationMessage(`${job.title}: ${why}.`, OUTCOME).then((picked) => (picked === OUTCOME ? this.show(job) : undefined));
      return;
    }
    this.texts.set(job.id, outcome.edited);
    const rewritten = vscode.Uri.from({ scheme: SCHEME, path: file.path, query: job.id });
    this.changed.fire(rewritten);
    await vscode.commands.executeCommand("vscode.diff", file, rewritten, `${basename(file.path)}: ${job.kernel} as it is ↔ rewritten`);
  }

  /** Has the server apply it, which checks the text before and after and says what became of it. */
  async apply(job: Job): Promise<void> {
    await vscode.window.showTextDocument(vscode.Uri.parse(job.uri, true), { preview: false });
    await this.execute("optimas.applyOutcome", job.id);
  }

  /** The job whose preview `uri` is. */
  static idOf(uri: vscode.Uri | undefined): string | undefined {
    return uri?.scheme === SCHEME ? uri.query : undefined;
  }

  dispose(): void {
    this.provider.dispose();
    this.changed.dispose();
  }
}
