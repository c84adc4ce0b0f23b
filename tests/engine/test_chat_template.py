"""Chat templates: rendered as the models expect, without access to anything else."""

from __future__ import annotations

import pytest

from infernix.engine.errors import ModelError
from infernix.engine.models.chat_template import ChatTemplate

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "<é & 'q'>"}]


def test_renders_messages_tokens_and_options() -> None:
    source = (
        "{{ bos_token }}{%- for m in messages %}\n[{{ m['role'] }}] {{ m.content }}{% endfor %}\n"
        "{%- if add_generation_prompt %}>{% endif %}{{ '!' if loud else '.' }}"
    )
    text = ChatTemplate(source, {"bos_token": "<s>"}).render(MESSAGES, loud=True)
    assert text == "<s>[system] Be brief.[user] <é & 'q'>>!"  # one line end after a block is dropped


def test_blocks_leave_no_white_space_and_json_no_html() -> None:
    source = "{% for m in messages %}\n  {% if m.role == 'user' %}\n{{ m | tojson }}\n  {% endif %}\n{% endfor %}"
    assert ChatTemplate(source).render(MESSAGES) == '{"role": "user", "content": "<é & \'q\'>"}\n'


def test_loop_controls_work() -> None:
    source = "{% for m in messages %}{% if loop.index == 2 %}{% break %}{% endif %}{{ m.role }}{% endfor %}"
    assert ChatTemplate(source).render(MESSAGES) == "system"


@pytest.mark.parametrize(
    "source",
    [
        "{{ raise_exception('only users may speak') }}",
        "{{ messages[0].content.__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({}) }}",
        "{{ undefined_name.attribute }}",
        "{{ 1 / 0 }}",
        "{% include '/etc/hostname' %}",
        "{% for a in range(10**9) %}{% endfor %}",
    ],
)
def test_refusals_and_escapes_are_model_errors(source: str) -> None:
    with pytest.raises(ModelError, match="chat template"):
        ChatTemplate(source).render(MESSAGES)


def test_a_template_that_does_not_compile() -> None:
    with pytest.raises(ModelError, match="does not compile"):
        ChatTemplate("{% if %}")
