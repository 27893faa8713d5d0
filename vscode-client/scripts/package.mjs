// Makes optimas-VERSION.vsix with no network: bundle, the server's wheel of the same checkout, vsce.
//   npm run package [-- --no-server]     PYTHON names the Python that builds the wheel (default: python3)
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
    stop(`the server's wheel could not be built with ${python}; install hatchling there, or pass --no-server`);
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
const carried = existsSync(wheels) ? readdirSync(wheels).join(", ") : "no server";
console.log(`${join(here, file)} (${carried})`);
