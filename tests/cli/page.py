#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Does what a scientist and an officer do on the page of cuttle serve, in Chromium without a window.

usage: page.py URL FOLDER OFFICE. Servers have been started, OFFICE one where officers approve, and these files have been made in FOLDER:
  use.key, officer.key   API keys
  refs.jsonl             enough records for three texts
  office.db              the ledger of OFFICE, and office-older.db a copy from before its first charge
  shot/                  pictures go here where the folder exists, to be looked at
It leaves results.jsonl and receipt.json there, as the page downloads them, and exits 1 with a line for each broken promise.
"""
import base64
import json
import os
import shutil
import sys
import tempfile
import time
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

try:
    from axe_core_python.selenium import Axe
except ImportError:
    Axe = None

URL, FOLDER, OFFICE = sys.argv[1].rstrip("/"), os.path.abspath(sys.argv[2]), sys.argv[3].rstrip("/")
WIDTHS = {"narrow": 320, "wide": 1200}
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script><b>bold</b>"
faults = []


def wrong(what):
    faults.append(what)
    print(f"page.py: {what}")


def open_browser(profile):
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": profile})
    return driver


def wait(until, what, seconds=60):
    """Waits until the function gives something true, and returns it; else the test cannot go on."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            found = until()
        except Exception:  # an element that has just been replaced
            found = None
        if found:
            return found
        time.sleep(0.05)
    picture("failed")
    wrong(f"waited for {what} in vain: {browser.find_element(By.TAG_NAME, 'main').text[:600]!r}")
    sys.exit(1)


def width(name):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": WIDTHS[name], "height": 900, "deviceScaleFactor": 1, "mobile": False})


def scheme(name):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}]})


def picture(name):
    folder = os.path.join(FOLDER, "shot")
    if not os.path.isdir(folder):
        return
    size = browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": {
        "x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 4000), "scale": 1}})
    with open(os.path.join(folder, name + ".png"), "wb") as file:
        file.write(base64.b64decode(shot["data"]))


def look(name):
    """A view as it is: in both schemes without a fault that axe knows, and 320 pixels wide without scrolling aside."""
    for colours in ("light", "dark"):
        scheme(colours)
        for violation in Axe().run(browser)["violations"] if Axe else ():
            wrong(f"{name}, {colours}: {violation['help']}: {[node['target'] for node in violation['nodes']][:3]}")
        picture(f"{name}-{colours}")
    scheme("light")
    width("narrow")
    over = browser.execute_script("""return [...document.querySelectorAll("body *")].filter(node => node.checkVisibility()
        && !node.closest(".wide, .unseen, .skip, thead") && node.getBoundingClientRect().right > innerWidth + 0.5).map(node => node.outerHTML.slice(0, 80))""")
    if browser.execute_script("return document.documentElement.scrollWidth") > WIDTHS["narrow"] or over:
        wrong(f"{name} is wider than {WIDTHS['narrow']} pixels: {over[:3]}")
    picture(f"{name}-narrow")
    width("wide")


def element(name):
    return browser.find_element(By.ID, name)


def seen(name):
    return browser.execute_script("const node = document.getElementById(arguments[0]); return node && node.checkVisibility()", name)


def focused():
    return browser.switch_to.active_element


def press(*keys):
    """On the keyboard: whatever has the focus gets them."""
    ActionChains(browser).send_keys(*keys).perform()


def replace(text):
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).send_keys(text).perform()


def tab_to(matches, what):
    """Presses Tab until the element that has the focus matches. Each on the way must show that it has it."""
    for _ in range(60):
        press(Keys.TAB)
        node = focused()
        if node.tag_name == "body":
            continue
        # What lost the focus meanwhile, as a view changed, need not show it.
        shown = browser.execute_script("""const style = getComputedStyle(arguments[0]);
            return arguments[0] !== document.activeElement || style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2""", node)
        if not shown:
            wrong(f"nothing shows that {node.get_attribute('outerHTML')[:80]} has the focus")
        if matches(node):
            return node
    wrong(f"{what} cannot be reached by Tab")
    sys.exit(1)


def by_id(name):
    return lambda node: node.get_attribute("id") == name


def by_text(text):
    return lambda node: node.text.strip().startswith(text)


def retype(name, text):
    tab_to(by_id(name), name)
    replace(text)


def read_key(role):
    with open(os.path.join(FOLDER, role + ".key"), encoding="ascii") as file:
        return file.read().strip()


def sign_in(role):
    wait(lambda: seen("sign"), "the field for the key")
    element("key").clear()
    element("key").send_keys(read_key(role), Keys.ENTER)
    wait(lambda: seen("parts"), "what the key opens")


def go(view):
    browser.execute_script("location.hash = arguments[0]", view)


def downloaded(ending, into):
    """The file that the page has saved, moved into FOLDER."""
    def complete():
        return [name for name in os.listdir(profile) if name.endswith(ending)]
    name = wait(complete, "a file that ends in " + ending)[0]
    os.rename(os.path.join(profile, name), os.path.join(FOLDER, into))


def check_key():
    browser.get(URL + "/")
    wait(lambda: seen("sign"), "the field for the key")
    if focused().get_attribute("id") != "key":
        wrong("the field for the key has not the focus")
    element("key").send_keys("nobody.wrong", Keys.ENTER)
    wait(lambda: "does not know this key" in element("key-fault").text, "a word about a wrong key")
    look("sign")
    if element("key").get_attribute("aria-invalid") != "true":
        wrong("a wrong key is not marked as invalid")
    sign_in("use")


def check_plan():
    """By keyboard alone, but for the choice of the file, for which a browser opens a window of its own."""
    browser.execute_script("document.getElementById('new-title').focus()")
    tab_to(lambda node: node.get_attribute("name") == "type", "the kind of job")
    element("file").send_keys(os.path.join(FOLDER, "refs.jsonl"))
    wait(lambda: "records" in element("file-hint").text, "the number of records")
    retype("dataset", "notes")
    retype("num", "3")
    retype("batch_size", "3")
    retype("max_tokens", "16")
    retype("epsilon", "1000000")
    wait(lambda: "does not fit" in element("promise").text, "a plan that does not fit the budget")
    look("over")
    if element("review").is_enabled():
        wrong("a plan that does not fit can be started")
    replace("0")
    wait(lambda: seen("epsilon-fault"), "a word about epsilon 0")
    look("fault")
    replace("5")
    wait(lambda: element("review").is_enabled(), "a plan that fits")
    look("plan")
    if "fits the budget" not in element("promise").text or "NOT PRIVATE" not in element("promise").text:
        wrong("the promise of a plan that fits is not there, or that a seed takes it away")


def check_job():
    tab_to(by_id("review"), "the button that starts")
    press(Keys.ENTER)
    wait(lambda: seen("confirm"), "the question before the start")
    look("confirm")
    press(Keys.ESCAPE)
    wait(lambda: not seen("confirm"), "the end of the question")
    if browser.execute_script("return location.hash").startswith("#job"):
        wrong("Escape starts the job")
    tab_to(by_id("review"), "the button that starts")
    press(Keys.ENTER)
    wait(lambda: seen("confirm"), "the question before the start")
    tab_to(by_id("confirm-yes"), "the answer")
    press(Keys.ENTER)
    wait(lambda: seen("job"), "the job")
    wait(lambda: seen("texts-card"), "the texts", 120)
    look("done")
    if len(browser.find_elements(By.CSS_SELECTOR, "#texts li")) != 3:
        wrong("not three texts are shown")
    tab_to(by_text("Download texts"), "the texts' button")
    press(Keys.ENTER)
    downloaded(".jsonl", "results.jsonl")
    tab_to(by_text("Download receipt"), "the receipt's button")
    press(Keys.ENTER)
    downloaded(".receipt.json", "receipt.json")
    with open(os.path.join(FOLDER, "results.jsonl"), encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    shown = browser.execute_script("return [...document.querySelectorAll('#texts p')].map(node => node.textContent)")
    if shown != texts:
        wrong(f"the texts that are shown are not those of the file: {shown[:1]} {texts[:1]}")


def choose(name, text):
    """Makes a file, and gives it to the form."""
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
        file.write(text)
    element("file").send_keys(os.path.join(FOLDER, name))


def is_fault(field, word):
    """The field is marked, in the colour of faults, with that word; and there is no way on."""
    note = field + "-fault"
    return (seen(note) and word in element(note).text and element(field).get_attribute("aria-invalid") == "true"
            and not element("review").is_enabled())


def check_files():
    """What the server would refuse of a file the page says before, and it counts records as the server does."""
    go("#new")
    wait(lambda: seen("new"), "the form")
    notes = "\n".join(f'{number},"a note, of ""two""\r\nlines"' for number in range(9))
    choose("notes.csv", "\ufeffid, \"the\nnote\" \r\n\r\n" + notes + "\n\n  \n")
    wait(lambda: is_fault("text_field", "no field text. It has id, the note."), "a field that the file does not have, in red")
    # As cuttle inspect counts them: a blank row is a record without a text.
    if "12 records" not in element("file-hint").text:
        wrong("records of CSV are not counted: " + element("file-hint").text)
    if "would be refused" not in element("promise").text:
        wrong("a file that would be refused has a promise")
    look("field")
    element("text_field").clear()
    element("text_field").send_keys("id")
    wait(lambda: element("review").is_enabled(), "a plan with a field that is there")
    element("unit_key").send_keys("owner")
    wait(lambda: is_fault("unit_key", "no field owner"), "an owner's field that the file does not have, in red")
    element("unit_key").clear()
    element("text_field").clear()
    element("text_field").send_keys("text")
    for name, text, word in (("lines.jsonl", "id,text\n1,a\n", "Is it CSV?"), ("empty.jsonl", "\n", "is empty"), ("marks.csv", "id;text\n1;a\n", "semicolons")):
        choose(name, text)
        wait(lambda: is_fault("file", word), name + " as a file that will not do")
    # A field may be in a later record alone.
    choose("late.jsonl", '{"id":1}\n' * 9 + '{"text":"a"}')
    wait(lambda: element("review").is_enabled() and "10 records" in element("file-hint").text, "a field in the last record")
    choose("blank.jsonl", '{"text":"a"}\n\n \n{"text":"b"}\r\n ')
    wait(lambda: "5 records" in element("file-hint").text, "blank lines as records")
    choose("few.csv", "text\nPatient 1\n")
    wait(lambda: "too few" in element("promise").text and not element("review").is_enabled(), "a word about too few rows")


def check_refused():
    """Records that will not do: the job waits for others. It can be cancelled, and deleted."""
    job = ask("POST", "/v1/jobs", {"type": "generate", "dataset": "notes", "plan": {"num": 3, "batch_size": 3, "max_tokens": 16, "epsilon": 5},
                                   "references": {"format": "csv"}}, server=URL, **{"Idempotency-Key": "few"})["id"]
    go("#job/" + job)
    wait(lambda: seen("again"), "the field for the file")
    element("again").send_keys(os.path.join(FOLDER, "few.csv"))
    [node for node in browser.find_elements(By.TAG_NAME, "button") if node.text == "Upload and start"][0].click()
    wait(lambda: seen("trouble") and "too few" in element("trouble").text, "a word about too few records")
    wait(lambda: seen("again"), "the field for another file")
    look("refused")
    for button, state in (("Cancel job", "cancelled"), ("Delete", "3 texts from notes")):
        wait(lambda: [node for node in browser.find_elements(By.TAG_NAME, "button") if node.text == button], button)[0].click()
        wait(lambda: seen("confirm"), "the question before " + button)
        element("confirm-yes").click()
        wait(lambda: state in browser.find_element(By.TAG_NAME, "main").text and not seen("confirm"), "the end of " + button)
    wait(lambda: len(browser.find_elements(By.CSS_SELECTOR, "#jobs-list tbody tr")) == 1, "a list without it")


def check_secrecy():
    """The key is in memory alone."""
    key = read_key("use")
    kept = browser.execute_script("""return [document.cookie, location.href, JSON.stringify({...localStorage}), JSON.stringify({...sessionStorage}),
        document.documentElement.outerHTML,
        ...[...document.querySelectorAll("input")].map(field => field.value)]""")
    if any(key in text for text in kept) or kept[0] or kept[2] != "{}" or kept[3] != "{}":
        wrong("the key, or something else, is kept where it outlives the page")
    browser.refresh()
    wait(lambda: seen("sign"), "the field for the key after a reload")


def check_lists():
    go("#jobs")
    wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#jobs-list a"), "the list of jobs")
    look("jobs")


def check_officer():
    go("#budget")
    wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#datasets-list tbody tr"), "the data sets")
    browser.execute_script("document.getElementById('budget-title').focus()")
    tab_to(by_text("Entries"), "the entries' button")
    press(Keys.ENTER)
    wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#entries tbody tr"), "the entries")
    if "limit set" not in element("entries").text or "rho" not in element("entries").text:
        wrong("the entry of the data set is not there: " + element("entries").text)
    element("verify").click()
    wait(lambda: "The chain holds" in element("chain").text, "the check of the chain")
    look("budget")


def ask(method, path, body=None, role="use", server=OFFICE, **headers):
    """A server's answer, as JSON where it is some. The page is not asked."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
    headers = {"Authorization": "Bearer " + read_key(role), **({"Content-Type": kind} if data else {}), **headers}
    with urllib.request.urlopen(urllib.request.Request(server + path, data, headers, method=method), timeout=60) as reply:
        said = reply.read()
    return json.loads(said) if said.startswith(b"{") and b"\n{" not in said else said


def wait_for_approval(name):
    """A job whose records are there."""
    job = ask("POST", "/v1/jobs", {"type": "generate", "dataset": "notes", "plan": {"num": 3, "batch_size": 3, "max_tokens": 16, "epsilon": 5}},
              **{"Idempotency-Key": name})["id"]
    with open(os.path.join(FOLDER, "refs.jsonl"), "rb") as file:
        ask("PUT", f"/v1/jobs/{job}/references", file.read())
    return ask("GET", "/v1/jobs/" + job, role="officer")


def focus_is_kept(what):
    """The focus stands on something of the view that shows it, so that Tab goes on from there."""
    time.sleep(0.3)
    shown = browser.execute_script("""const node = document.activeElement, style = getComputedStyle(node);
        return !!node.closest("#officer") && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2""")
    if not shown:
        wrong(f"{what}, and the focus is lost, or cannot be seen: {focused().get_attribute('outerHTML')[:80]}")


def answer_dialog(key):
    wait(lambda: seen("confirm"), "the question")
    tab_to(by_id("confirm-yes"), "the answer")
    press(key)
    wait(lambda: not seen("confirm"), "the end of the question")


def trail_events():
    return [cells.text for cells in browser.find_elements(By.CSS_SELECTOR, "#trail-list tbody td:nth-of-type(2)")]


def check_day():
    """An officer's day, by keyboard alone: what waits is approved and refused, the trail is read, a gap of the ledger is confirmed."""
    first = wait_for_approval("first")
    second = wait_for_approval("second")
    for _ in range(25):
        ask("GET", "/v1/trail", role="officer")
    # Who may not start a job has no button for it.
    def buttons():
        return [node.text for node in browser.find_elements(By.CSS_SELECTOR, "#job-body button")]
    browser.get(OFFICE + "/")
    sign_in("use")
    go("#job/" + first["id"])
    wait(lambda: "An officer looks at the job" in element("job-body").text, "a job that waits for an officer")
    if buttons() != ["Cancel job", "Delete"]:
        wrong(f"a scientist has other buttons: {buttons()}")
    look("waits")
    browser.get("data:,")
    browser.get(OFFICE + "/")
    sign_in("officer")
    wait(lambda: seen("officer-link"), "the way to the officer's day")
    go("#job/" + first["id"])
    wait(lambda: buttons() == ["Start", "Cancel job", "Delete"], "the officer's buttons")
    go("#new")
    wait(lambda: seen("new"), "the form")
    tab_to(by_id("officer-link"), "the way to the officer's day")
    press(Keys.ENTER)
    wait(lambda: len(browser.find_elements(By.CSS_SELECTOR, "#waiting-list li")) == 2, "two jobs that wait")
    wait(trail_events, "the audit trail")
    look("officer")
    for job in (first, second):
        if job["fingerprint"] not in element("waiting-list").text or f"rho {job['charge']['loss']:.4g}" not in element("waiting-list").text:
            wrong(f"fingerprint or charge of a job that waits are not shown: {element('waiting-list').text}")
    # Escape approves nothing, and the focus is where it was.
    approve = by_text("Approve and start")
    tab_to(approve, "the button that approves")
    # Made in one second, they stand in any order.
    if focused().get_attribute("data-at") == first["id"]:
        first, second = second, first
    press(Keys.ENTER)
    wait(lambda: seen("confirm"), "the question")
    if second["fingerprint"] not in element("confirm-body").text:
        wrong("what is approved is not named")
    look("approve")
    press(Keys.ESCAPE)
    wait(lambda: not seen("confirm"), "the end of the question")
    if not approve(focused()) or ask("GET", "/v1/jobs/" + second["id"])["status"] != "awaiting_references":
        wrong("Escape approves, or takes the focus away")
    press(Keys.SPACE)
    answer_dialog(Keys.SPACE)
    wait(lambda: len(browser.find_elements(By.CSS_SELECTOR, "#waiting-list li")) == 1, "one job that waits")
    focus_is_kept("a job is approved")
    wait(lambda: ask("GET", "/v1/jobs/" + second["id"])["status"] == "done", "the job that was approved")
    wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#spent-list td[data-what=Runs]")[0].text == "1", "the run among what was spent", 20)
    tab_to(by_text("Refuse"), "the button that refuses")
    press(Keys.ENTER)
    answer_dialog(Keys.ENTER)
    wait(lambda: "None does" in element("waiting-list").text, "that none waits")
    focus_is_kept("a job is refused")
    if ask("GET", "/v1/jobs/" + first["id"])["status"] != "cancelled":
        wrong("a job that was refused is not cancelled")
    check_trail(second)
    check_gap(second)


def check_trail(job):
    """The trail: all of it, one event, one job, and by pages."""
    tab_to(by_id("trail-event"), "the choice of events")
    press("start")
    tab_to(by_text("Show"), "the button that shows")
    press(Keys.SPACE)
    wait(lambda: set(trail_events()) == {"start"}, "entries of one event")
    if "otto, officer" not in element("trail-list").text or job["fingerprint"] not in element("trail-list").text:
        wrong(f"who approved what is not told: {element('trail-list').text}")
    retype("trail-job", "<b>")
    press(Keys.ENTER)
    wait(lambda: seen("trail-job-fault"), "a word about what is no job")
    look("trail-fault")
    browser.execute_script("document.getElementById('trail-title').focus()")
    tab_to(by_id("trail-event"), "the choice of events")
    press("all")
    retype("trail-job", job["id"])
    press(Keys.ENTER)
    wait(lambda: trail_events() == ["end", "start", "upload", "create"], "the entries of one job")
    replace(Keys.BACKSPACE)
    press(Keys.ENTER)
    wait(lambda: len(trail_events()) == 25, "a page")
    newest = element("trail-list").text
    tab_to(by_text("Older"), "the button to older ones")
    press(Keys.ENTER)
    wait(lambda: trail_events() and element("trail-list").text != newest and trail_events()[-1] == "serve_begin", "the older ones")
    focus_is_kept("a page is turned")
    press(Keys.SPACE)  # there are none older, so this is the way back
    wait(lambda: len(trail_events()) == 25, "the newer ones")


def check_gap(lost):
    """The ledger is put back under the server: the page says which run is lost, and nothing is approved before that is confirmed."""
    last = wait_for_approval("last")
    wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#waiting-list li"), "a job that waits", 20)
    for ending in ("-wal", "-shm", ""):
        if os.path.exists(os.path.join(FOLDER, "office.db" + ending)):
            os.unlink(os.path.join(FOLDER, "office.db" + ending))
    shutil.copy(os.path.join(FOLDER, "office-older.db"), os.path.join(FOLDER, "office.db"))
    wait(lambda: seen("gap"), "a word about the ledger", 20)
    browser.refresh()
    sign_in("officer")
    wait(lambda: seen("trouble") and "nothing is charged" in element("trouble").text.lower(), "a word about the ledger at the begin")
    wait(lambda: seen("gap"), "a word about the ledger")
    wait(trail_events, "the audit trail")
    look("gap")
    run = ask("GET", "/v1/ledger/gap", role="officer")["runs"][0]
    if run["job"] != lost["id"] or any(text not in element("gap").text for text in (run["run"][:12], lost["id"][:12], f"rho {lost['charge']['loss']:.4g}", "notes", "ada")):
        wrong(f"what is lost is not named: {element('gap').text}")
    if any(node.is_enabled() for node in browser.find_elements(By.CSS_SELECTOR, "#waiting-list button") if node.text.startswith("Approve")):
        wrong("a job can be approved over a ledger that lacks charges")
    browser.execute_script("document.getElementById('officer-title').focus()")
    tab_to(by_text("Go on without"), "the button that confirms")
    press(Keys.ENTER)
    wait(lambda: seen("confirm"), "the question")
    press(Keys.ESCAPE)
    wait(lambda: not seen("confirm"), "the end of the question")
    if not ask("GET", "/v1/ledger/gap", role="officer")["held"]:
        wrong("Escape confirms")
    press(Keys.ENTER)
    answer_dialog(Keys.ENTER)
    wait(lambda: not seen("gap"), "the end of the gap")
    focus_is_kept("a gap is confirmed")
    told = ask("GET", "/v1/trail/entries?event=ledger_restored", role="officer")["data"]
    if [(entry["key"], list(entry["runs"].values())) for entry in told] != [("otto", [lost["id"]])]:
        wrong(f"who confirmed it is not told: {told}")
    press(Keys.ENTER)  # the focus is on the next thing to do
    answer_dialog(Keys.ENTER)
    wait(lambda: ask("GET", "/v1/jobs/" + last["id"])["status"] == "done", "the job behind the gap")


def check_hostile_day():
    """Hostile answers on the officer's view, with a job that waits and a gap."""
    wait_for_approval("hostile")
    browser.refresh()
    sign_in("officer")
    charge = {"measure": "rho", "loss": 1, "dataset": "", "runs": 1}
    spoil({"held": True, "gap": "", "entries": 2, "datasets": [charge], "runs": [{"run": "", "job": "", "dataset": "", "owner": "", "charge": charge}]})
    go("#new")
    go("#officer")
    for part in ("gap", "waiting-list", "spent-list", "trail-list"):
        wait(lambda: HOSTILE[:12] in element(part).text, "hostile words in " + part)
    width("narrow")
    picture("hostile-officer")
    if browser.execute_script("return document.documentElement.scrollWidth") > WIDTHS["narrow"]:
        wrong("hostile words make the officer's day wider than a narrow screen")
    width("wide")
    check_no_markup()


def check_no_officer():
    """A scientist has no such day."""
    browser.refresh()
    sign_in("use")
    go("#officer")
    wait(lambda: seen("trouble") and "officers" in element("trouble").text, "a word about the role")
    if seen("officer-link") or trail_events() or seen("gap"):
        wrong("a scientist is shown what is for officers")
    look("no-officer")


def check_scientist_is_none():
    go("#budget")
    wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#datasets-list tbody tr"), "the data sets")
    element("verify").click()
    wait(lambda: seen("trouble") and "officer" in element("trouble").text, "a word about the role")
    look("forbidden")


def spoil(gap=None):
    """Every string that the server sends is markup from now on; `gap` is what an answer about one has beside its own."""
    browser.execute_script("""const real = window.fetch, hostile = arguments[0], gap = arguments[1], kept = /^(status|type|object|id|measure|created)$/;
        const spoil = (value, name) => Array.isArray(value) ? value.map(part => spoil(part, "")) :
            value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, spoil(part, name)])) :
            typeof value === "string" && !kept.test(name) ? hostile : value;
        window.fetch = async (...all) => {
            const response = await real(...all);
            let text = await response.text();
            if (String(all[0]).endsWith("/v1/ledger/gap")) text = JSON.stringify({...JSON.parse(text), ...gap});
            const lines = text.split("\\n").map(line => { try { return JSON.stringify(spoil(JSON.parse(line), "")); } catch { return line; } });
            let body;
            try { body = JSON.stringify(spoil(JSON.parse(text), "")); } catch { body = lines.join("\\n"); }
            return new Response([204, 304].includes(response.status) ? null : body, {status: response.status});
        };""", HOSTILE, gap)


def check_no_markup():
    if browser.find_elements(By.CSS_SELECTOR, "main img, main script, b b, #texts b, td b, li b b") or browser.title == "owned":
        wrong("a text of the server became markup")


def check_hostile():
    """Every string is markup. It must be shown, and nothing else."""
    spoil()
    for view in ("#jobs", "#budget", "#new", "job"):
        if view == "job":
            go("#jobs")
            view = wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#jobs-list a"), "a job")[0].get_attribute("hash")
            go(view)
            wait(lambda: seen("texts-card"), "hostile texts")
        elif view != "#new":
            go(view)
            wait(lambda: HOSTILE[:20] in browser.find_element(By.TAG_NAME, "main").text, "hostile names in " + view)
            if view == "#budget":
                [node for node in browser.find_elements(By.TAG_NAME, "button") if node.text == "Entries"][0].click()
                wait(lambda: HOSTILE[:20] in element("entries").text, "a word about a hostile name")
        else:
            go(view)
        time.sleep(0.2)
        width("narrow")
        picture("hostile-" + view.strip("#").split("/")[0])
        if browser.execute_script("return document.documentElement.scrollWidth") > WIDTHS["narrow"]:
            wrong(f"hostile names make {view} wider than {WIDTHS['narrow']} pixels")
        width("wide")
    check_no_markup()


def check_policy():
    """What a text would have to do, were it markup, the browser forbids: to run, and to send something elsewhere."""
    browser.execute_script("const node = document.createElement('script'); node.textContent = 'window.ran = 1'; document.body.append(node)")
    if browser.execute_script("return window.ran"):
        wrong("a script that is not the page's own has run")
    forbidden = browser.execute_async_script("""const done = arguments[0];
        addEventListener("securitypolicyviolation", event => done(event.effectiveDirective));
        fetch("http://127.0.0.1:9/").catch(() => setTimeout(() => done("nothing"), 2000));""")
    if forbidden != "connect-src":
        wrong(f"the page may send elsewhere: {forbidden} forbids it")


def check_end():
    """A job is deleted by whoever made it."""
    go("#jobs")
    wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#jobs-list a"), "a job to delete")[0].click()
    wait(lambda: seen("texts-card"), "its texts")
    tab_to(by_text("Delete"), "the button that deletes")
    press(Keys.ENTER)
    wait(lambda: seen("confirm"), "the question before it is deleted")
    tab_to(by_id("confirm-yes"), "the answer")
    press(Keys.ENTER)
    wait(lambda: seen("jobs") and "none yet" in element("jobs-list").text, "an empty list")


def check_requests():
    """Only this server was asked, by the page and by nothing beside it."""
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] != "Network.requestWillBeSent":
            continue
        address = message["params"]["request"]["url"]
        if not address.startswith((URL + "/", OFFICE + "/", "blob:" + URL, "data:", "chrome:")):
            wrong("it asked " + address[:200])
        if read_key("use") in address or read_key("officer") in address:
            wrong("a key stands in an address")
    for entry in browser.get_log("browser"):
        if "status of 4" not in entry["message"] and "Content Security Policy" not in entry["message"]:
            wrong("the console says " + entry["message"][:200])


with tempfile.TemporaryDirectory(dir=FOLDER) as profile:
    browser = open_browser(profile)
    try:
        width("wide")
        check_key()
        check_plan()
        check_job()
        check_lists()
        check_files()
        check_refused()
        go("#jobs")
        check_secrecy()
        sign_in("officer")
        check_officer()
        check_hostile()
        browser.refresh()
        sign_in("use")
        check_scientist_is_none()
        check_end()
        check_day()
        check_hostile_day()
        check_no_officer()
        check_requests()
        check_policy()
    finally:
        browser.quit()
print("axe: " + ("every view, light and dark" if Axe else "SKIPPED, axe-core-python is not installed: ./setup.sh page"))
sys.exit(1 if faults else 0)
