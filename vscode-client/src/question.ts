// What the server asks the user: in a dialog when it is long, so that commands that would be run are read line by line.
import * as vscode from "vscode";

interface Action {
  readonly title: string;
}

interface Question {
  readonly type: number;
  readonly message: string;
  readonly actions?: readonly Action[];
}

const ERROR = 1;
const WARNING = 2;

/** Answers `window/showMessageRequest`: the chosen action, or null. The last action of a dialog is what closing it means. */
export async function question({ type, message, actions = [] }: Question): Promise<Action | null> {
  const [first = "", ...rest] = message.split("\n");
  const last = actions.at(-1);
  const items = actions.map((action) => ({ title: action.title, isCloseAffordance: rest.length > 0 && action === last }));
  const options = rest.length === 0 ? {} : { modal: true, detail: rest.join("\n") };
  const show = type === ERROR ? vscode.window.showErrorMessage : type === WARNING ? vscode.window.showWarningMessage : vscode.window.showInformationMessage;
  const picked = await show(first, options, ...items);
  return picked === undefined ? null : { title: picked.title };
}
