// Progress of what the server does: what can be cancelled gets a notification with a button, the rest the status bar.
import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";

type Handle = NonNullable<Middleware["handleWorkDoneProgress"]>;

interface Shown {
  readonly report: (words: string | undefined, percentage: number | undefined) => void;
  readonly end: () => void;
}

/** Middleware that shows it so; `cancel` is called with the token of what the user no longer wants. */
export function progress(cancel: (token: string | number) => void): Handle {
  const shown = new Map<string | number, Shown>();
  return (token, params, next) => {
    if (params.kind === "begin" && params.cancellable === true) {
      shown.set(token, notify(params.title, () => { cancel(token); }));
      shown.get(token)?.report(params.message, params.percentage);
      return;
    }
    const mine = shown.get(token);
    if (mine === undefined) {
      next(token, params);
    } else if (params.kind === "end") {
      shown.delete(token);
      mine.end();
      next(token, params); // the language client forgets the token
    } else if (params.kind === "report") {
      mine.report(params.message, params.percentage);
    }
  };
}

function notify(title: string, cancelled: () => void): Shown {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let sink: vscode.Progress<{ message?: string; increment?: number }> | undefined;
  let reached = 0;
  let first: [string | undefined, number | undefined] = [undefined, undefined];
  const report = (message: string | undefined, percentage: number | undefined): void => {
    if (sink === undefined) {
      first = [message, percentage];
      return;
    }
    const increment = percentage === undefined ? undefined : Math.max(0, percentage - reached);
    reached += increment ?? 0;
    sink.report({ ...(message !== undefined && { message }), ...(increment !== undefined && { increment }) });
  };
  const options = { location: vscode.ProgressLocation.Notification, cancellable: true, title };
  void vscode.window.withProgress(options, (given, token) => {
    sink = given;
    report(...first);
    token.onCancellationRequested(cancelled);
    return ended;
  });
  return { report, end };
}
