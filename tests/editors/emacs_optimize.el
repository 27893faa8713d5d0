;;; emacs_optimize.el --- run by test_emacs.py: emacs -q --batch -l emacs_optimize.el  -*- lexical-binding: t; -*-
;; Optimises a kernel through code actions alone, as any Eglot user would, and writes what it saw as JSON.
(setq package-user-dir (make-temp-file "optimas-elpa" t))
(package-initialize)
(require 'json)
(load (getenv "OPTIMAS_MODULE"))
(setq optimas-command (list (getenv "OPTIMAS_PYTHON") "-m" "optimas_lsp")
      eglot-sync-connect 120
      eglot-autoshutdown t
      eglot-confirm-server-initiated-edits nil)

(defun wait-for (what seconds condition)
  (with-timeout (seconds (error "%s did not happen within %s s" what seconds))
    (while (not (funcall condition))
      (accept-process-output nil 0.05))))

(find-file (getenv "OPTIMAS_FILE"))
(setq-local flymake-no-changes-timeout 0.1)
(apply #'eglot--connect (eglot--guess-contact))
(eglot--maybe-activate-editing-mode)
(wait-for "a diagnostic" 120 (lambda () (flymake-start) (flymake-diagnostics)))

(defvar server (eglot--current-server-or-lose))
(buffer-enable-undo)

(defun actions (only)
  "The code actions of kind ONLY on the kernel's line."
  (goto-char (point-min))
  (re-search-forward "^__global__ void adjacent_kernel")
  (append (jsonrpc-request server :textDocument/codeAction
                           (list :textDocument (eglot--TextDocumentIdentifier)
                                 :range (list :start (eglot--pos-to-lsp-position (line-beginning-position))
                                              :end (eglot--pos-to-lsp-position (line-end-position)))
                                 :context (list :diagnostics [] :only (vector only))))
          nil))

(defun run (action)
  "Do what ACTION says."
  (let ((command (plist-get action :command)))
    (jsonrpc-request server :workspace/executeCommand
                     (list :command (plist-get command :command) :arguments (plist-get command :arguments)))))

(defun job ()
  "The newest job."
  (let ((jobs (plist-get (jsonrpc-request server :workspace/executeCommand '(:command "optimas.jobs" :arguments [])) :jobs)))
    (and (> (length jobs) 0) (aref jobs 0))))

(let* ((original (buffer-string))
       (optimise (car (actions "refactor.rewrite.optimas.kernel")))
       (seen (list (cons 'optimise (plist-get optimise :title)))))
  (run optimise)
  (wait-for "an outcome" 120 (lambda () (equal (plist-get (job) :offer) "ready")))
  (let ((apply (car (actions "refactor.rewrite.optimas.apply"))))
    (push (cons 'apply (plist-get apply :title)) seen)
    (undo-boundary)
    (eglot--apply-workspace-edit (plist-get apply :edit))
    (eglot--signal-textDocument/didChange) ; what Eglot does when Emacs is idle
    (wait-for "the server's knowledge of it" 60 (lambda () (equal (plist-get (job) :offer) "applied")))
    (push (cons 'applied (buffer-string)) seen)
    (undo-boundary)
    (while (not (or (equal (buffer-string) original) (eq pending-undo-list t)))
      (setq last-command (if (assq 'undone seen) 'undo nil))
      (undo)
      (push (cons 'undone t) seen))
    (push (cons 'restored (if (equal (buffer-string) original) t :json-false)) seen))
  (with-temp-file (getenv "OPTIMAS_OUT")
    (insert (json-encode (assq-delete-all 'undone seen)))))
(ignore-errors (eglot-shutdown server nil 3))
(kill-emacs 0)
