;;; optimas.el --- Optimas in Emacs through Eglot  -*- lexical-binding: t; -*-

;;; Commentary:
;; (load "/path/to/editors/emacs/optimas.el"), open a CUDA or Triton file, M-x eglot.
;; Findings are Flymake diagnostics, the hover comes through ElDoc, M-x optimas-hotspots lists what costs most.
;; Eglot runs one server a buffer: where clangd is wanted too, `C-u M-x eglot' asks which.

;;; Code:

(require 'eglot)
(require 'compile)

(defvar optimas-command '("optimas-lsp")
  "Program and arguments that start the server.")

(add-to-list 'auto-mode-alist '("\\.cuh?\\'" . c++-mode))
(add-to-list 'eglot-server-programs
             (cons '(c++-mode c++-ts-mode c-mode c-ts-mode python-mode python-ts-mode)
                   (lambda (&rest _) optimas-command)))

;; The name without dashes came with Eglot 1.16 (Emacs 30).
(defalias 'optimas--path
  (if (fboundp 'eglot-uri-to-path) 'eglot-uri-to-path 'eglot--uri-to-path))

(define-compilation-mode optimas-hotspots-mode "Optimas"
  "Findings, costliest first; RET goes to the line.")

(defun optimas--findings (hotspots)
  "The findings of HOTSPOTS (schema optimas.hotspots/1) that have a line, as (KEY . TEXT).
What is worth changing comes first, then the rest, each by what it costs."
  (let (found)
    (seq-doseq (report (plist-get hotspots :reports))
      (when (eq (plist-get report :shown) t)
        (seq-doseq (kernel (plist-get report :kernels))
          (seq-doseq (finding (plist-get kernel :findings))
            (when-let ((place (plist-get finding :place)))
              (push (cons (+ (pcase (plist-get finding :level) ("act" 2) ("hot" 1) (_ 0))
                             (* 0.5 (or (plist-get kernel :share) 0) (plist-get finding :share)))
                          (format "%s:%d: %.1f %% of %s: %s"
                                  (optimas--path (plist-get place :uri))
                                  (1+ (plist-get place :line))
                                  (* 100 (plist-get finding :share))
                                  (plist-get kernel :baseName)
                                  (plist-get finding :text)))
                    found))))))
    (sort found (lambda (a b) (> (car a) (car b))))))

(defun optimas-hotspots ()
  "List the findings of the profile that is shown, costliest first."
  (interactive)
  (let ((findings (optimas--findings
                   (jsonrpc-request (eglot--current-server-or-lose) :workspace/executeCommand
                                    '(:command "optimas.hotspots" :arguments [])))))
    (with-current-buffer (get-buffer-create "*Optimas hotspots*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (optimas-hotspots-mode)
        (dolist (finding findings)
          (insert (cdr finding) "\n"))
        (goto-char (point-min)))
      (display-buffer (current-buffer)))))

(provide 'optimas)
;;; optimas.el ends here
