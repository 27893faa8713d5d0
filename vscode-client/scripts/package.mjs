// Makes optimas-VERSION.vsix with no network: bundle, the server's wheel of the same checkout, vsce.
//   npm run package [-- --no-server | --with-dependencies]
// PYTHON names the Python that builds the wheel (default: python3). --with-dependencies also carries the wheels that the
// server needs, for that Python's version and platform, so that the extension installs its server with no network; they
// come from the package index once, here.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const python = process.env.PYTHON ?? "python3";

function run(command, args, cwd = here) {
  return spawnSync(command, args, { cwd, stdio: ["ignore", "inherit", "inherit"] }).status === 0;
}

function stop(sentence) {
  console.error(`package: ${sentence}`);
  process.exit(1);
}

const wheels = join(here, "server");
rmSync(wheels, { recursive: true, force: true });
if (!process.argv.includes("--no-server")) {
  mkdirSync(wheels);
  const wheel = ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", wheels];
  // With hatchling in place nothing is fetched; without it pip fetches one for the build.
  const offline = spawnSync(python, ["-c", "import hatchling"], { stdio: "ignore" }).status === 0;
  if (!run(python, [...wheel, ...(offline ? ["--no-build-isolation"] : []), ".."])) {
    stop(`the server's wheel could not be built with ${python}: set PYTHON to 3.11 or newer with pip, or pass --no-server`);
  }
}

if (process.argv.includes("--with-dependencies")) {
  const own = readdirSync(wheels).map((name) => join(wheels, name));
  const fetch = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
  if (!run(python, [...fetch, "--dest", wheels, ...own])) {
    stop("the wheels that the server needs could not be fetched; check the network or the package mirror (pip config list)");
  }
}

if (!run(process.execPath, ["esbuild.mjs"])) {
  stop("the bundle could not be built");
}
const { name, version } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
const file = `${name}-${version}.vsix`;
const vsce = join(here, "node_modules", "@vscode", "vsce", "vsce");
// Dependencies are in the bundle, so the package needs no node_modules.
if (!run(process.execPath, [vsce, "package", "--no-dependencies", "--allow-missing-repository", "--out", file])) {
  stop("vsce could not make the package");
}
const names = existsSync(wheels) ? readdirSync(wheels) : [];
const carried = names.length > 3 ? `${names.length} wheels` : names.join(", ") || "no server";
console.log(`${join(here, file)} (${carried})`);
