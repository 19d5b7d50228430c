package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/build"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
)

// newManCommand writes what --help prints as manual pages. It is hidden because packages are made with it, and
// nothing else.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands into a directory",
		Hidden: true,
		Args:   cli.OneArgument("name a directory for the pages"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writePages(cmd.Root(), args[0])
		},
	}
}

// writePages writes the page of a command and of all below it.
func writePages(cmd *cobra.Command, dir string) error {
	if cmd.Hidden || cmd.IsAdditionalHelpTopicCommand() {
		return nil
	}
	var page strings.Builder
	writePage(&page, cmd)
	if err := os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), []byte(page.String()), 0o644); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if err := writePages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// pageName is warren-wal-verify for `warren wal verify`.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// writePage writes one page in the macros of man(7). Source: groff_man(7), man-pages(7).
func writePage(w io.Writer, cmd *cobra.Command) {
	b := build.This()
	date := ""
	if !b.Date.IsZero() {
		date = b.Date.UTC().Format("2006-01-02")
	}
	name := pageName(cmd)
	fmt.Fprintf(w, ".TH %s 1 %q \"warren %s\" \"Warren\"\n", strings.ToUpper(roff(name)), date, roff(b.Version))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(name), roff(lowerFirst(cmd.Short)))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(cmd.UseLine()))
	if text := cmd.Long; text != "" {
		fmt.Fprint(w, ".SH DESCRIPTION\n")
		writeParagraphs(w, text)
	}
	writeFlags(w, "OPTIONS", cmd.NonInheritedFlags())
	writeFlags(w, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var related []string
	if cmd.HasParent() {
		related = append(related, pageName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			related = append(related, pageName(sub))
		}
	}
	if len(related) == 0 {
		return
	}
	fmt.Fprint(w, ".SH SEE ALSO\n")
	for i, page := range related {
		comma := " ,"
		if i == len(related)-1 {
			comma = ""
		}
		fmt.Fprintf(w, ".BR %s (1)%s\n", roff(page), comma)
	}
}

// writeParagraphs writes text whose paragraphs are parted by empty lines; what is indented keeps its lines.
func writeParagraphs(w io.Writer, text string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			fmt.Fprintf(w, ".PP\n.nf\n%s\n.fi\n", roff(paragraph))
			continue
		}
		fmt.Fprintf(w, ".PP\n%s\n", roff(paragraph))
	}
}

func writeFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		var head strings.Builder
		if f.Shorthand != "" {
			fmt.Fprintf(&head, `\fB%s\fR, `, roff("-"+f.Shorthand))
		}
		fmt.Fprintf(&head, `\fB%s\fR`, roff("--"+f.Name))
		if kind != "" {
			fmt.Fprintf(&head, ` \fI%s\fR`, roff(kind))
		}
		if def := f.DefValue; def != "" && def != "false" && def != "0" && def != "[]" && def != "0s" {
			usage += " (default " + def + ")"
		}
		fmt.Fprintf(w, ".TP\n%s\n%s\n", head.String(), roff(usage))
	})
}

// roff escapes text for a page: backslashes, hyphens (which must stay what can be copied and searched for), and lines
// that would be taken for a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// lowerFirst writes a sentence as the NAME section wants it.
func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
