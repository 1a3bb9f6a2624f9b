// Package command is what the commands of freshet share: exit codes, arguments, files, and lengths of time as people
// type them.
package command
