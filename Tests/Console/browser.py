"""A browser that does what a person does, by mouse or by keyboard alone."""

import importlib.util
import json
import os
import time

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

# The elements that a person sees under a name.
BY_NAME = """
const [name, selector] = arguments
const shown = element => element.checkVisibility() && !element.closest('[inert]')
const modal = [...document.querySelectorAll('dialog[open]')].pop()
const root = modal ?? document
const nameOf = element => (element.getAttribute('aria-label') || (element.labels?.length ? element.labels[0].querySelector('.label')?.textContent
  ?? element.labels[0].textContent : '') || element.textContent || '').trim()
const all = [...root.querySelectorAll(selector)].filter(shown)
return all.find(element => nameOf(element) === name) ?? all.find(element => nameOf(element).startsWith(name)) ?? null
"""
CONTROLS = "button, a, input, select, textarea, [role=menuitem], [role=menuitemradio], [role=tab], [role=option], summary"


class Browser:
    def __init__(self, width: int, keyboard: bool, pictures: str | None = None):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.downloads = os.path.join(pictures or "/tmp", f"downloads-{width}-{os.getpid()}")
        options.add_experimental_option("prefs", {"download.default_directory": self.downloads})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.width, self.keyboard, self.pictures = width, keyboard, pictures
        self.resize(width)
        self.scheme("light")

    def resize(self, width: int):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800 if width > 500 else 844, "deviceScaleFactor": 1, "mobile": False},
        )

    def scheme(self, name: str):
        features = [{"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def close(self):
        self.driver.quit()

    def run(self, script: str, *values):
        return self.driver.execute_script(script, *values)

    def wait(self, what, condition, seconds: float = 10):
        """Waits until a condition is true, and returns its value."""
        end, value = time.monotonic() + seconds, None
        while time.monotonic() < end:
            try:
                value = condition()
                if value:
                    return value
            except (StaleElementReferenceException, JavascriptException, WebDriverException):
                pass
            time.sleep(0.03)
        text = self.run("return document.body.innerText")[:1500]
        raise AssertionError(f"{what}: not within {seconds} s. The page says:\n{text}")

    def named(self, name: str, selector: str = CONTROLS, seconds: float = 10):
        """The control that a person sees under a name."""
        return self.wait(f"the control {name!r}", lambda: self.run(BY_NAME, name, selector), seconds)

    def has(self, name: str, selector: str = CONTROLS) -> bool:
        return self.run(BY_NAME, name, selector) is not None

    def sees(self, text: str, seconds: float = 10, where: str = "body"):
        return self.wait(
            f"the text {text!r}",
            lambda: self.run("return [...document.querySelectorAll(arguments[1])].some(e => e.innerText.includes(arguments[0]))", text, where),
            seconds,
        )

    def focused(self, element) -> bool:
        return self.run("return document.activeElement === arguments[0]", element)

    def focus(self, element):
        """Goes to an element with the Tab key."""
        for key in (Keys.TAB, Keys.SHIFT + Keys.TAB):
            for _ in range(90):
                if self.focused(element):
                    return
                self.keys(key)
        raise AssertionError(f"the Tab key does not reach {element.tag_name} {element.accessible_name!r}")

    def keys(self, *keys):
        actions = ActionChains(self.driver, duration=0)
        for key in keys:
            if len(key) == 2 and key[0] in (Keys.SHIFT, Keys.CONTROL, Keys.ALT):
                actions.key_down(key[0]).send_keys(key[1]).key_up(key[0])
            else:
                actions.send_keys(key)
        actions.perform()

    def use(self, target, selector: str = CONTROLS):
        """Clicks a control, or goes to it with the Tab key and presses Enter."""
        if isinstance(target, str):
            for _ in range(4):
                try:
                    return self.use(self.named(target, selector), target)
                except StaleElementReferenceException:
                    # The page drew the control again meanwhile, as a person would not even notice.
                    pass
            raise AssertionError(f"the control {target!r} does not stay")
        element, target = target, selector
        if not self.keyboard:
            self.run("arguments[0].scrollIntoView({block: 'nearest'})", element)
            element.click()
            return
        role = element.get_attribute("role")
        if role and role.startswith("menuitem"):
            for _ in range(60):
                if self.focused(element):
                    break
                self.keys(Keys.ARROW_DOWN)
            self.keys(Keys.ENTER)
            return
        if role == "tab":
            self.focus(self.run("return arguments[0].parentElement.querySelector('[aria-selected=true]')", element))
            for _ in range(10):
                if self.run("return document.activeElement.textContent") == target:
                    return
                self.keys(Keys.ARROW_RIGHT)
        self.focus(element)
        is_box = element.get_attribute("type") in ("checkbox", "radio")
        self.keys(" " if is_box else Keys.ENTER)

    def enter(self, target, text: str, selector: str = CONTROLS):
        """Replaces the text of a control."""
        element = self.named(target, selector) if isinstance(target, str) else target
        if self.keyboard:
            self.focus(element)
        else:
            element.click()
        self.keys(Keys.CONTROL + "a", *([Keys.DELETE] if not text else list(text)))

    def choose(self, target, value: str):
        """Chooses an option of a select by its value or its text."""
        element = self.named(target, "select") if isinstance(target, str) else target
        if self.keyboard:
            self.focus(element)
        at = self.run("const [e, v] = arguments; return [...e.options].findIndex(o => o.value === v || o.text === v)", element, value)
        assert at >= 0, f"no option {value!r}"
        if self.keyboard:
            current = self.run("return arguments[0].selectedIndex", element)
            self.keys(*[Keys.ARROW_DOWN if at > current else Keys.ARROW_UP] * abs(at - current))
        else:
            from selenium.webdriver.support.ui import Select

            Select(element).select_by_index(at)

    def command(self, text: str):
        """Runs a command of the palette."""
        if self.keyboard:
            self.keys(Keys.CONTROL + "k")
        else:
            self.named("Commands", "button").click()
        self.wait("the palette", lambda: self.run("return document.activeElement.getAttribute('role') === 'combobox'"))
        self.keys(*text)
        self.wait("a command", lambda: text.lower() in self.run("return document.querySelector('.palette [aria-selected=true]').innerText").lower())
        self.keys(Keys.ENTER)

    def go(self, hash: str):
        self.run("location.hash = arguments[0]", "#/" + hash)
        self.wait("the section", lambda: self.run("return document.querySelector('#main').dataset.shown === location.hash"))

    def shot(self, name: str):
        if self.pictures:
            self.driver.save_screenshot(os.path.join(self.pictures, f"{name}-{self.width}.png"))

    def violations(self) -> list[str]:
        """What axe-core finds on the page as it is."""
        if not self.run("return typeof axe !== 'undefined'"):
            # The package has axe-core as a file; nothing else of it is used, so its own dependencies need not be installed.
            folder = importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0]
            with open(os.path.join(folder, "axe.min.js"), encoding="utf-8") as file:
                # As the developer tools would: the policy of the page allows no script from elsewhere.
                self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": file.read()})
        script = "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations))"
        found = self.driver.execute_async_script(script)
        return [f"{v['id']}: {v['help']}: {json.dumps([n['html'][:160] for n in v['nodes'][:3]])}" for v in found]

    def complaints(self) -> list[str]:
        """What the console of the browser says is wrong, refused requests excepted."""
        entries = self.driver.get_log("browser")
        return [e["message"] for e in entries if e["level"] == "SEVERE" and "Failed to load resource" not in e["message"]]
