// Package weburl gives every page one name.
package weburl
