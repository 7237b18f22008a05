// live.js: while sampling goes on the page shows the profile so far, and asks its server for a later state every few seconds.

class Live {
  constructor(page, seconds) {
    this.page = page
    this.button = $('live')
    this.button.hidden = false
    this.button.addEventListener('click', () => this.toggle())
    document.addEventListener('visibilitychange', () => { if (this.due && !document.hidden) this.next() })
    this.tell('live', 'sampling goes on; p keeps what is shown')
    this.wait(seconds)
  }

  tell(text, title) {
    this.button.textContent = text
    this.button.title = title
    this.button.setAttribute('aria-pressed', String(text === 'live'))
    this.button.disabled = text !== 'live' && text !== 'paused'
  }

  wait(seconds) {
    this.seconds = seconds
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.next(), 1000 * seconds)
  }

  toggle() {
    if (this.button.disabled) return
    this.paused = !this.paused
    this.tell(this.paused ? 'paused' : 'live', this.paused ? 'p goes on' : 'sampling goes on; p keeps what is shown')
    if (this.paused) clearTimeout(this.timer)
    else this.next()
  }

  // next fetches the profile, unless it would not be seen.
  async next() {
    this.due = document.hidden
    if (this.due || this.paused) return
    clearTimeout(this.timer)
    let data
    try {
      const answer = await fetch('data.json', {cache: 'no-store'})
      if (!answer.ok) throw new Error(answer.statusText)
      data = await answer.json()
    } catch (err) {
      this.tell('gone', `the server does not answer: ${err.message}`)
      return
    }
    if (this.paused) return
    this.page.load(new Model(data), data.timeline)
    if (data.live) this.wait(data.live)
    else this.tell('complete', 'sampling has ended; this is the whole profile')
  }
}
