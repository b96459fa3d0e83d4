"""Writing the trained network and its tokenizer as a GGUF file (version 3, F32)."""

from __future__ import annotations

from pathlib import Path

import gguf

from .bpe import SPECIAL, Bpe
from .network import Network
from .shape import SHAPE, Shape

__all__ = ["CHAT_TEMPLATE", "export"]

CHAT_TEMPLATE = (
    "{%- for turn in messages %}"
    "{{- '<|im_start|>' + turn.role + '\\n' + turn.content + '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
_NAME = "slotview-1m"
_END_OF_TEXT, _, _IM_END = range(len(SPECIAL))


def _describe(writer: gguf.GGUFWriter) -> None:
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name(_NAME)
    writer.add_basename("slotview")
    writer.add_size_label("1.3M")
    writer.add_license("MIT")
    writer.add_description("Tells little stories and answers questions about the slots of llama-server.")
    writer.add_languages(["en"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def _add_shape(writer: gguf.GGUFWriter, shape: Shape) -> None:
    writer.add_vocab_size(shape.vocab)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.head_dim)
    writer.add_rope_dimension_count(shape.head_dim)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.norm_eps)


def _add_tokenizer(writer: gguf.GGUFWriter, bpe: Bpe) -> None:
    kinds = [gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL for token in bpe.tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(bpe.tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{left} {right}" for left, right in bpe.merges])
    writer.add_bos_token_id(_END_OF_TEXT)
    writer.add_eos_token_id(_IM_END)
    writer.add_eot_token_id(_IM_END)
    writer.add_pad_token_id(_END_OF_TEXT)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def export(network: Network, bpe: Bpe, path: Path, shape: Shape = SHAPE) -> None:
    """Write one file; the output layer is the embedding, so it is not stored a second time."""
    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer)
    _add_shape(writer, shape)
    _add_tokenizer(writer, bpe)
    for name, weight in network.state_dict().items():
        writer.add_tensor(name.replace(".attn.", "."), weight.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
