#!/usr/bin/env bash
# Installs a real VS Code (code-server) and what drives it into a cache folder, for tests/vscode.
#
#   tests/vscode/install_code_server.sh [FOLDER]
#
# FOLDER defaults to $OPTIMAS_VSCODE_CACHE, else ${XDG_CACHE_HOME:-~/.cache}/optimas-lsp-tests/vscode. A second run does
# nothing. Needs Node 20, npm, a C++ compiler, make and python3 (node-gyp), and from the system's packages a Chromium
# and ripgrep: they are installed with apt-get when this runs as root on Debian or Ubuntu, and named otherwise.
# Every failure is one sentence on standard error: what is missing and what to do. Exit status 3 means "cannot be had
# here", anything else is a defect.
set -euo pipefail

CODE_SERVER=4.100.3   # carries VS Code 1.100.3
PLAYWRIGHT=1.55.0

folder=${1:-${OPTIMAS_VSCODE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/optimas-lsp-tests/vscode}}
stamp="$folder/complete-$CODE_SERVER-$PLAYWRIGHT"
say() { printf 'install_code_server: %s\n' "$*" >&2; }
absent() { say "$*"; exit 3; }

[ -e "$stamp" ] && { say "already in $folder"; exit 0; }

major=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/' || true)
[ "${major:-0}" -ge 20 ] || absent "Node 20 or newer is needed (found: ${major:-none}); install it and run this again"
command -v npm >/dev/null || absent "npm is needed; install it and run this again"
command -v c++ >/dev/null || absent "a C++ compiler is needed to build code-server's native modules; install g++ and make"

# The headless browser and the search program that code-server expects.
packages=()
command -v rg >/dev/null || packages+=(ripgrep)
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || packages+=(chromium)
if [ ${#packages[@]} -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing ${packages[*]} with apt-get"
        log=$(mktemp)
        { apt-get -o DPkg::Lock::Timeout=300 update -qq && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "${packages[@]}" fonts-dejavu-core; } >"$log" 2>&1 ||
            { tail -n 5 "$log" >&2; absent "apt-get could not install ${packages[*]}; install them by hand and run this again"; }
        rm -f "$log"
    else
        absent "missing: ${packages[*]}; install them with your system's package manager and run this again"
    fi
fi

mkdir -p "$folder"
cd "$folder"
[ -f package.json ] || printf '{"name": "optimas-vscode-tests", "private": true}\n' >package.json

npm_or_stop() { npm "$@" --no-audit --no-fund --loglevel=error || absent "npm $1 failed in $PWD (is a package registry reachable?)"; }

say "fetching code-server $CODE_SERVER and playwright-core $PLAYWRIGHT into $folder"
# Install scripts are skipped because the package's own one downloads programs outside the registry.
npm_or_stop install "code-server@$CODE_SERVER" "playwright-core@$PLAYWRIGHT" --ignore-scripts
npm_or_stop rebuild argon2

editor="$folder/node_modules/code-server/lib/vscode"
cd "$editor"
npm_or_stop install --ignore-scripts --omit=dev
# node-pty's own post-install step fails after its module is built; what counts is checked below.
npm rebuild @vscode/spdlog native-watchdog node-pty --loglevel=error >/dev/null 2>&1 || true
for module in @vscode/spdlog/build/Release/spdlog.node native-watchdog/build/Release/watchdog.node node-pty/build/Release/pty.node; do
    [ -e "node_modules/$module" ] || absent "the native module $module was not built; see the output of: npm rebuild in $editor"
done
mkdir -p node_modules/@vscode/ripgrep/bin
ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
ln -sfn node_modules node_modules.asar
ln -sf code-linux.sh bin/remote-cli/code-server
ln -sf browser-linux.sh bin/helpers/browser.sh

cd "$folder"
version=$(XDG_CONFIG_HOME="$folder/config" ./node_modules/.bin/code-server --version | tail -n 1) || absent "code-server was installed in $folder but does not start"
touch "$stamp"
say "ready: code-server $version"
