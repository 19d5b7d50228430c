// Package html has the elements, attributes and texts that the pages of the console are made of. They are those of
// gomponents, as variables.
//
// A function of gomponents is so short that the compiler copies it to each place that calls it, with the function that
// it returns: the binary would have the code that writes an element 300 times. The compiler does not look through
// variables, so there is one copy, and the binary is 0.9 MB smaller.
package html

import (
	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
)

// Text and Textf escape what they are given.
var Text, Textf = g.Text, g.Textf

// Elements.
var (
	El, Doctype                       = g.El, html.Doctype
	A, Body, Button, Code, DataList   = html.A, html.Body, html.Button, html.Code, html.DataList
	Dd, Del, Details, Div, Dl, Dt     = html.Dd, html.Del, html.Details, html.Div, html.Dl, html.Dt
	FieldSet, Form, H1, H2, H3, HTML  = html.FieldSet, html.Form, html.H1, html.H2, html.H3, html.HTML
	Head, Header, Input, Ins, Label   = html.Head, html.Header, html.Input, html.Ins, html.Label
	Legend, Li, Link, Main, Meta, Nav = html.Legend, html.Li, html.Link, html.Main, html.Meta, html.Nav
	Ol, Option, P, Pre, Script        = html.Ol, html.Option, html.P, html.Pre, html.Script
	Section, Select, Small, Span      = html.Section, html.Select, html.Small, html.Span
	Strong, Summary, TBody, THead     = html.Strong, html.Summary, html.TBody, html.THead
	Table, Td, Textarea, Th, TitleEl  = html.Table, html.Td, html.Textarea, html.Th, html.TitleEl
	Tr, Ul                            = html.Tr, html.Ul
)

// Attributes.
var (
	Attr                                  = g.Attr
	Action, Aria, AutoComplete, AutoFocus = html.Action, html.Aria, html.AutoComplete, html.AutoFocus
	Charset, Checked, Class, Content      = html.Charset, html.Checked, html.Class, html.Content
	Data, Defer, For, Href, ID, Lang      = html.Data, html.Defer, html.For, html.Href, html.ID, html.Lang
	List, Method, Min, Name, Rel          = html.List, html.Method, html.Min, html.Name, html.Rel
	Required, Role, Rows, Scope           = html.Required, html.Role, html.Rows, html.Scope
	Selected, Src, TabIndex, Type         = html.Selected, html.Src, html.TabIndex, html.Type
	Value                                 = html.Value
)
