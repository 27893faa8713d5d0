;;; emacs.el --- run by test_emacs.py: emacs -q --batch -l emacs.el  -*- lexical-binding: t; -*-
;; Uses editors/emacs/optimas.el on a real file and writes what it saw as JSON.
(setq package-user-dir (make-temp-file "optimas-elpa" t))
(package-initialize)
(require 'json)
(load (getenv "OPTIMAS_MODULE"))
(setq optimas-command (list (getenv "OPTIMAS_PYTHON") "-m" "optimas_lsp")
      eglot-sync-connect 60
      eglot-autoshutdown t)

(defun wait-for (what seconds condition)
  (with-timeout (seconds (error "%s did not happen within %s s" what seconds))
    (while (not (funcall condition))
      (accept-process-output nil 0.05))))

(find-file (getenv "OPTIMAS_FILE"))
(setq-local flymake-no-changes-timeout 0.1)
(apply #'eglot--connect (eglot--guess-contact))
(eglot--maybe-activate-editing-mode)
(wait-for "a diagnostic" 40 (lambda () (flymake-start) (flymake-diagnostics)))

(let* ((server (eglot--current-server-or-lose))
       (worst (car (sort (copy-sequence (flymake-diagnostics))
                         (lambda (a b) (< (flymake-diagnostic-beg a) (flymake-diagnostic-beg b))))))
       (hover (progn (goto-char (flymake-diagnostic-beg worst))
                     (jsonrpc-request server :textDocument/hover (eglot--TextDocumentPositionParams)))))
  (optimas-hotspots)
  (with-temp-file (getenv "OPTIMAS_OUT")
    (insert (json-encode
             (list (cons 'mode (symbol-name major-mode))
                   (cons 'diagnostics (vconcat (mapcar #'flymake-diagnostic-text (flymake-diagnostics))))
                   (cons 'hover (plist-get (plist-get hover :contents) :value))
                   (cons 'hotspots (with-current-buffer "*Optimas hotspots*" (buffer-string))))))))
(ignore-errors (eglot-shutdown (eglot--current-server-or-lose) nil 3))
(kill-emacs 0)
