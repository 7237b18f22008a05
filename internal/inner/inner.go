// Package inner gives the sampling packages of this module access to the controller of a pctl.Process. They
// need more than pctl offers: looks at single threads, generations of the thread set.
package inner

// Controller returns the *control.Controller of a *pctl.Process. It is an error if the process was
// grabbed read-only or is closed. Package pctl sets Controller. The types are not named, because pctl
// and its users import this package.
var Controller func(process any) (controller any, err error)
