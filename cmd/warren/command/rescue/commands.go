// Package rescue has the commands for servers that are ill: doctor, which says what is wrong, support, which collects
// what a bug report needs, and adopt and recover, which change the data directory of a server that is stopped. Names
// and servers are asked by several goroutines at a time; everything else is for the goroutine of the command.
package rescue

import "github.com/spf13/cobra"

// Commands returns the commands of this package.
func Commands() []*cobra.Command {
	return []*cobra.Command{newDoctorCommand(), newSupportCommand(), newAdoptCommand(), newRecoverCommand()}
}
