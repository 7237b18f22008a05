// state.js: the address of the page has what is shown, so that a link to it shows the same.

class State {
  constructor(page) {
    this.page = page
    window.addEventListener('hashchange', () => this.show())
  }

  // read takes over what the address says of the view. It comes before the layers are made, and zoom after.
  read() {
    const {page} = this
    const said = this.said = new URLSearchParams(location.hash.slice(1))
    const [left, right] = (said.get('time') || '').split('-').map(Number)
    if (left < right) page.timeline?.show(left, right)
    else page.timeline?.reset()
    page.within()
    const {model} = page
    Object.assign(page, {view: 'flame', value: model.values.length > 0 ? model.initial : 0, group: 'none', function: -1})
    $('search').value = said.get('search') || ''
    const view = [...$('views').children].find(b => b.dataset.view === said.get('view') && !b.hidden)
    if (view) page.view = view.dataset.view
    const value = model.values.findIndex(v => v.name === said.get('value'))
    if (value >= 0) page.value = value
    if ([...$('groups').options].some(o => o.value === said.get('threads'))) page.group = said.get('threads')
    if (said.has('function')) page.function = model.find(said.get('function'))
  }

  zoom() {
    const {page, said} = this
    if ($('search').value || page.matches) page.search($('search').value)
    const [layer, node] = (said.get('zoom') || '').split('.').map(Number)
    const to = page.flames.layers[layer]
    if (to && node > 0 && node < to.tree.size) page.zoomTo({layer: to, node})
  }

  show() {
    this.read()
    this.page.refresh()
    this.zoom()
  }

  // write puts what is shown into the address.
  write() {
    const {page, said} = this
    if (!said) return // the first layers are not made yet
    const {flames, model} = page
    const now = new URLSearchParams()
    if (page.view !== 'flame') now.set('view', page.view)
    if (page.value !== model.initial) now.set('value', model.values[page.value].name)
    if (page.group !== 'none') now.set('threads', page.group)
    if (page.view === 'sandwich' && page.function >= 0) now.set('function', model.key(page.function))
    if (page.timeline?.part) now.set('time', `${Math.round(page.timeline.left)}-${Math.round(page.timeline.right)}`)
    if (page.matches) now.set('search', $('search').value)
    if (flames.zoom && !page.live) now.set('zoom', `${flames.layers.indexOf(flames.zoom.layer)}.${flames.zoom.node}`)
    const text = now.toString()
    if (text === location.hash.slice(1)) return
    try {
      history.replaceState(null, '', text ? '#' + text : location.pathname + location.search)
    } catch { // a page without an address of its own, as in a sandbox
    }
  }
}
