package zkscripts

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/files"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal/vfs"
)

// txnLogToolkit is zkTxnLogToolkit.sh. It changes no log: what is recovered or chopped goes into a file beside it.
type txnLogToolkit struct {
	dump, recover, verbose, yes, chop bool
	zxid                              cli.ZxidFlag

	out     *bufio.Writer
	answers *bufio.Scanner
	line    []byte // reused
}

func newTxnLogToolkitCommand() *cobra.Command {
	var t txnLogToolkit
	cmd := &cobra.Command{
		Use:   "zkTxnLogToolkit.sh [-dhrvyc] TXN_LOG_FILE [-z ZXID]",
		Short: "ZooKeeper's script zkTxnLogToolkit.sh",
		Long: "Prints a log file as ZooKeeper's TxnLogToolkit does, also records whose checksum does not match. " +
			"Recovery gives such a record\n" +
			"a checksum that fits, in the file TXN_LOG_FILE.fixed: what is damaged in it stays damaged. `warren wal " +
			"repair` does not do\n" +
			"that. Chopping copies everything up to a txn into TXN_LOG_FILE.chopped<zxid>.",
		Hidden: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return scriptUsageError{cli.Misuse(cmd, errors.New("name a log file"))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			t.out, t.answers = bufio.NewWriter(cmd.OutOrStdout()), bufio.NewScanner(cmd.InOrStdin())
			t.answers.Split(bufio.ScanWords)
			err := t.run(args[0])
			return errors.Join(err, t.out.Flush())
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&t.dump, "dump", "d", false, "print every txn, which is the default")
	flags.BoolVarP(&t.recover, "recover", "r", false, "write a file in which every checksum fits")
	flags.BoolVarP(&t.verbose, "verbose", "v", false,
		"while recovering, print every txn, not only those that are fixed")
	flags.BoolVarP(&t.yes, "yes", "y", false, "fix every checksum without asking")
	flags.BoolVarP(&t.chop, "chop", "c", false, "copy the txns up to a zxid")
	flags.VarP(&t.zxid, "zxid", "z", "with --chop, the last txn to copy; decimal, or hex with 0x")
	return cmd
}

// errNotRecovered ends a recovery that was aborted.
var errNotRecovered = errors.New("aborted: there is no recovery file")

func (t *txnLogToolkit) run(file string) error {
	f, err := os.Open(file)
	if err != nil {
		fmt.Fprintf(t.out, "File doesn't exist or not readable: %s\n", file)
		return cli.ExitStatus(cli.ExitUnexpected)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	log, err := newTxnLog(file, f, info.Size())
	if err != nil {
		return err
	}
	fmt.Fprintln(t.out, "ZooKeeper Transactional Log File with dbid 0 txnlog format version 2")
	switch {
	case t.chop && t.zxid.Zxid > 0:
		return t.chopTo(log, t.zxid.Zxid)
	case t.recover:
		return t.recoverTo(log)
	}
	return t.each(log, func(txn *rawTxn) error {
		if !txn.isWhole {
			t.print("CRC ERROR - ", txn)
		}
		t.print("", txn)
		return nil
	})
}

func (t *txnLogToolkit) print(prefix string, txn *rawTxn) {
	t.line = files.ToolkitLine(append(t.line[:0], prefix...), &txn.record)
	t.out.Write(t.line) // Flush has the error
}

// each reads every record and says how many there were.
func (t *txnLogToolkit) each(log *txnLog, fn func(*rawTxn) error) error {
	for n := 0; ; n++ {
		txn, ok, err := log.next()
		if err == nil && ok {
			err = fn(&txn)
		}
		if err != nil {
			return err
		}
		if !ok {
			fmt.Fprintf(t.out, "EOF reached after %d txns.\n", n)
			return nil
		}
	}
}

// recoverTo writes <file>.fixed.
func (t *txnLogToolkit) recoverTo(log *txnLog) error {
	name := log.file + ".fixed"
	if _, err := os.Lstat(name); err == nil {
		fmt.Fprintf(t.out, "Recovery file %s already exists or not writable\n", name)
		return cli.ExitStatus(cli.ExitUnexpected)
	}
	fixed := 0
	err := t.writeBeside(name, log.file, func(w io.Writer) error {
		return t.each(log, func(txn *rawTxn) error {
			if !txn.isWhole {
				isFixed, err := t.fix(txn)
				if err != nil {
					return err
				}
				if isFixed {
					fixed++
				}
			}
			if t.verbose {
				t.print("", txn)
			}
			_, err := w.Write(txn.bytes)
			return err
		})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "Recovery file %s has been written with %d fixed CRC error(s)\n", name, fixed)
	return nil
}

// fix gives a record another checksum, if that is wanted.
func (t *txnLogToolkit) fix(txn *rawTxn) (bool, error) {
	if t.yes {
		t.print("CRC FIXED - ", txn)
	} else {
		t.print("CRC ERROR - ", txn)
		for wanted := false; !wanted; {
			fmt.Fprint(t.out, "Would you like to fix it (Yes/No/Abort) ? ")
			if err := t.out.Flush(); err != nil {
				return false, err
			}
			if !t.answers.Scan() {
				return false, errNotRecovered
			}
			switch strings.ToLower(t.answers.Text()) {
			case "y", "yes":
				wanted = true
			case "n", "no":
				return false, nil
			case "a", "abort":
				return false, errNotRecovered
			}
		}
	}
	binary.BigEndian.PutUint64(txn.bytes, uint64(adler32.Checksum(txn.record.Payload)))
	return true, nil
}

// chopTo writes <file>.chopped<zxid>.
func (t *txnLogToolkit) chopTo(log *txnLog, last proto.Zxid) error {
	n := 0
	name := fmt.Sprintf("%s.chopped%d", log.file, int64(last))
	err := t.writeBeside(name, log.file, func(w io.Writer) error {
		for {
			txn, ok, err := log.next()
			if err != nil {
				return err
			}
			if !ok || txn.record.Zxid > last {
				return fmt.Errorf("%s: this log does not contain zxid %v", log.file, last)
			}
			if !txn.isWhole {
				return fmt.Errorf("%s: the checksum of txn %v at offset %d does not match", log.file, txn.record.Zxid,
					txn.record.Offset)
			}
			n++
			if _, err := w.Write(txn.bytes); err != nil || txn.record.Zxid == last {
				return err
			}
		}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "Chopping at %x new log has %d records\n", uint64(last), n)
	return nil
}

// writeBeside writes a new log file, with a header and what fill writes, and the mode and owner of the log it comes
// from; on an error there is none.
func (t *txnLogToolkit) writeBeside(name, model string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := vfs.Like(vfs.OS(), name, model); err != nil {
		return errors.Join(err, f.Close(), os.Remove(name))
	}
	w := bufio.NewWriterSize(f, 64<<10)
	head := proto.FileHeader{Magic: proto.MagicLog, Version: proto.FileVersion}
	_, err = w.Write(head.AppendTo(nil))
	if err == nil {
		err = fill(w)
	}
	if err == nil {
		err = errors.Join(w.Flush(), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
