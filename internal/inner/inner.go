// Package inner is a door in the wall of pctl for the packages of this module that sample: they need more of
// a process than its facade offers (looks at single threads, generations of the thread set).
package inner

// Controller returns the *control.Controller of a *pctl.Process, or the error of one that was grabbed
// read-only or closed. Package pctl sets it. The types are not named, because pctl and its users import
// this package.
var Controller func(process any) (controller any, err error)
