// The protocol client, in a bundle of its own: it is nine tenths of the code and no part of activation.
export { LanguageClient, State } from "vscode-languageclient/node";
